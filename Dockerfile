# The workers, and every other command of turnfold: docker build -t turnfold .
#
#   docker run --rm --init turnfold --help
#   docker run --init --read-only -e REDIS_URL=redis://… turnfold worker --agents examples/workspace.ts
#
# `--init` (compose: `init: true`; Kubernetes: shareProcessNamespace): as process 1 Node would be deaf to a SIGTERM that
# comes while it loads, and wait for the SIGKILL. So no init of its own in here. Nothing is written inside the container:
# --read-only holds. Agents of your own come with an image over this one, where `turnfold` is found by its name:
#
#   FROM turnfold
#   COPY agents.js /app/agents/
#   CMD ["worker", "--agents", "agents/agents.js"]
#
# Exact versions, no digests: a digest would have to be looked up where this file is kept up to date, and the stand-ins of
# deploy/stand-ins could not carry it.
ARG NODE_IMAGE=node:24.21.0-bookworm-slim

FROM ${NODE_IMAGE} AS packages
WORKDIR /src
COPY package.json package-lock.json ./
# Of the workspaces only the inspector is built here. npm leaves out the packages of the absent ones.
COPY inspector/package.json inspector/
# No install scripts: the only one that does anything brings a Node, which is here.
RUN npm ci --ignore-scripts --no-audit --no-fund

FROM packages AS build
COPY tsconfig.json tsconfig.build.json ./
COPY scripts/copy-lua.ts scripts/
COPY src src
COPY inspector inspector
RUN npm run build && chmod 755 dist/cli/main.js

FROM packages AS dependencies
# Neither maps nor declarations are read by a program that runs.
RUN npm prune --omit=dev --workspaces=false --ignore-scripts --no-audit --no-fund \
  && find node_modules -type f \( -name '*.map' -o -name '*.d.ts' -o -name '*.d.mts' -o -name '*.d.cts' \) -exec rm {} +

FROM ${NODE_IMAGE}
ENV NODE_ENV=production \
  TURNFOLD_METRICS_HOST=0.0.0.0
WORKDIR /app
# Root's, and read by all: the user of the process can change none of it.
COPY package.json ./
COPY --from=dependencies /src/node_modules node_modules
COPY --from=build /src/dist dist
COPY examples examples
COPY deploy/health-check.js deploy/
# docker compose exec turn-worker turnfold doctor
RUN ln -s /app/dist/cli/main.js /usr/local/bin/turnfold
# The image's user `node`, by number, so that Kubernetes can see that it is not root.
USER 1000:1000
EXPOSE 9464
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s --retries=3 CMD ["node", "deploy/health-check.js"]
ENTRYPOINT ["turnfold"]
CMD ["--help"]

import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { HttpAgent } from '@ag-ui/client';
import { CopilotRuntime, createCopilotEndpoint, InMemoryAgentRunner } from '@copilotkit/runtime/v2';
import { serve } from '@hono/node-server';
import { serveStatic } from '@hono/node-server/serve-static';
import { Hono } from 'hono';

const { TURNFOLD_URL = 'http://127.0.0.1:8787', TURNFOLD_KEY, PORT = '3000' } = process.env;

/** Agent of `turnfold serve`. The key stays on this server. */
const agent = new HttpAgent({
  url: `${TURNFOLD_URL}/v1/ag-ui`,
  ...(TURNFOLD_KEY !== undefined && { headers: { authorization: `Bearer ${TURNFOLD_KEY}` } }),
});

/** Shows a page that was loaded again the thread of turnfold, also after a restart of this server. */
class DurableRunner extends InMemoryAgentRunner {
  override connect({ threadId }: Parameters<InMemoryAgentRunner['connect']>[0]): ReturnType<HttpAgent['run']> {
    const thread = new HttpAgent({ url: `${agent.url}/connect`, headers: agent.headers });
    const empty = { messages: [], tools: [], context: [], state: {}, forwardedProps: {} };
    return thread.run({ threadId, runId: crypto.randomUUID(), ...empty });
  }
}

const runtime = new CopilotRuntime({ agents: { default: agent }, runner: new DurableRunner() });
const copilot = createCopilotEndpoint({ runtime, basePath: '/api/copilotkit' });
const folder = fileURLToPath(new URL('../dist', import.meta.url));

const app = new Hono();
app.all('/api/copilotkit/*', async (context) => await copilot.fetch(context.req.raw));
app.get('/assets/*', serveStatic({ root: folder, rewriteRequestPath: (path) => path }));
app.get('/', async (context) => context.html(await readFile(`${folder}/index.html`, 'utf8')));

serve({ fetch: app.fetch, hostname: '127.0.0.1', port: Number(PORT) }, ({ port }) => {
  console.log(`http://127.0.0.1:${port}`);
});

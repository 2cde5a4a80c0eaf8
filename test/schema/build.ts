import type { openClient } from '../../src/api/client/index.ts';
import type { defineTool } from '../../src/domain/agent.ts';
import type { startWorkers } from '../../src/host/start-workers.ts';
import type { scriptedModel } from '../../src/providers/scripted.ts';

/** The parts of a build of turnfold that these tests use: of this tree, or of the kept release. */
export interface Build {
  readonly defineTool: typeof defineTool;
  readonly openClient: typeof openClient;
  readonly scriptedModel: typeof scriptedModel;
  readonly startWorkers: typeof startWorkers;
}

/** @param modules URLs of the main module and of the module of the client */
export async function loadBuild([main, client]: readonly string[]): Promise<Build> {
  return { ...((await import(String(main))) as object), ...((await import(String(client))) as object) } as Build;
}

/** Modules of this tree. */
export const THIS_TREE = ['../../src/index.ts', '../../src/api/client/index.ts'].map(
  (path) => new URL(path, import.meta.url).href,
);

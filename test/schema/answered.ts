import type { OpenClient } from '../../src/api/client/index.ts';

/** Limit of each wait. A test that passes never reaches it. */
export const WAIT_MS = 60_000;

/** The answer of a turn, or its state if it has none. */
export const contentOf = async (client: OpenClient, id: string, turn: string): Promise<unknown> => {
  const view = await client.result(id, turn, { waitMs: WAIT_MS });
  return view.state === 'completed' ? view.answer?.content : view;
};

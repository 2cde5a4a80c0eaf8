import type { TurnfoldClient } from '../client/index.ts';
import type { Output } from './output.ts';

/** What a command that talks to Redis is given. */
export interface CommandContext {
  readonly client: TurnfoldClient;
  readonly output: Output;
}

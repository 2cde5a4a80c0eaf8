import type { Behaviour } from './behaviour.ts';
import { ENDINGS } from './endings.ts';
import { REASONINGS } from './reasoning.ts';
import { ACCOUNTS, OVERFLOWS, PICTURES } from './refusals.ts';
import { SYSTEM_MESSAGES } from './system-messages.ts';
import { OUTPUTS, TOOL_CALLS } from './tool-calls.ts';

export interface Topic {
  readonly title: string;
  readonly behaviours: readonly Behaviour[];
}

/** Behaviours of real providers, gateways and local servers, by topic. */
export const BEHAVIOURS: readonly Topic[] = [
  { title: 'Ends of an answer', behaviours: ENDINGS },
  { title: 'Responses through gateways', behaviours: OUTPUTS },
  { title: 'Tool calls as servers send them', behaviours: TOOL_CALLS },
  { title: 'Reasoning that must go back, and refused reasoning', behaviours: REASONINGS },
  { title: 'System messages behind other messages', behaviours: SYSTEM_MESSAGES },
  { title: 'Requests that are too long', behaviours: OVERFLOWS },
  { title: 'Pictures', behaviours: PICTURES },
  { title: 'Accounts, settings and rate limits', behaviours: ACCOUNTS },
];

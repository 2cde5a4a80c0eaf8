import type { AnswerBody } from '../../../src/api/contract/client.ts';
import type { TurnStepsAnswer } from '../../../src/api/contract/turn-steps.ts';

export type ShownTurn = AnswerBody<'showTurn'>;

export type RecordedStep = TurnStepsAnswer['steps'][number];

import type { z } from 'zod';
import type { TurnStepsAnswer } from '../../../src/api/http/answers/turn-steps.ts';
import type { turnSchema } from '../../../src/api/http/answers/turns.ts';

export type ShownTurn = z.infer<typeof turnSchema>;

export type RecordedStep = TurnStepsAnswer['steps'][number];

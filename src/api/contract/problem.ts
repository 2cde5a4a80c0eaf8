import { z } from 'zod';
import { mapOf } from './operation.ts';

/** Schema of `Problem`. */
export const problemSchema = z
  .looseObject({
    type: z.string(),
    title: z.string(),
    status: z.number().int(),
    code: z.string().describe('Error code for programs, as in docs/reference/errors.md and docs/reference/http.md.'),
    detail: z.string().describe('Explanation for people.'),
    field: z.string().optional().describe('Path of the wrong field, header or parameter.'),
    details: mapOf(z.unknown()).optional().describe('Figures and ids that explain the error.'),
  })
  .meta({ id: 'Problem' });

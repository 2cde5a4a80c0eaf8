import { z } from 'zod';
import { SCOPES } from '../../../domain/access-key.ts';
import { idSchema } from '../../../domain/ids.ts';

export const accessSchema = z
  .looseObject({
    tenant: idSchema.describe('The only tenant whose conversations the caller reaches.'),
    isReadOnly: z.literal(true).optional().describe('Present if the server refuses every change.'),
    scopes: z.array(z.enum(SCOPES)).describe('Rights of the caller. `admin` includes the others.'),
  })
  .meta({ id: 'Access' });

export type AccessAnswer = z.infer<typeof accessSchema>;

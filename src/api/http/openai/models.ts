import { fieldError, type TurnfoldError } from '../../../domain/errors.ts';
import type { Backend } from '../front-end/backend.ts';

/** A model of OpenAI's APIs is an agent. */
interface ModelObject {
  readonly id: string;
  readonly object: 'model';
  readonly created: number;
  readonly owned_by: string;
}

/** The server does not know when an agent was deployed, and clients need a number. */
function writeModel(id: string): ModelObject {
  return { id, object: 'model', created: 0, owned_by: 'turnfold' };
}

export async function listModels({ client, agent }: Backend): Promise<ModelObject[]> {
  const served = await client.agents();
  const answering = served.filter(({ roles }) => roles.includes('turn')).map((one) => one.agent);
  return [...new Set([...answering, ...(answering.length === 0 ? [agent] : [])])].toSorted().map(writeModel);
}

export async function readModel(backend: Backend, id: string): Promise<ModelObject> {
  await checkModel(backend, id, 'model');
  return writeModel(id);
}

/**
 * Without any worker, each name is taken: turns are durable, and the workers may come later.
 * @throws not_found if workers run, and none has an agent of this name
 */
export async function checkModel({ client, agent }: Backend, id: string, field = 'model'): Promise<void> {
  if (id === agent) return;
  const served = await client.agents();
  if (served.length === 0 || served.some((one) => one.agent === id)) return;
  throw unknownModel(id, field);
}

function unknownModel(id: string, field: string): TurnfoldError {
  const why = `no worker has an agent with the name ${id}. GET /models lists the agents`;
  return fieldError('not_found', field, why, { details: { reason: 'model_not_found' } });
}

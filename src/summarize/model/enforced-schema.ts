import { isModelError, type Model, type ModelAnswer, type ModelRequest } from '../../domain/model.ts';
import { readSafely } from '../../domain/thrown.ts';

export function enforcesSchemas({ profile, fallbacks = [] }: Model): boolean {
  return profile.abilities?.structured === true || fallbacks.some(enforcesSchemas);
}

/** Models that answered a request only without its schema. */
const refusers = new WeakSet<Model>();

/** Sends a request again without its schema if the schema may be what was refused. The prompt asks for the same form. */
export async function generateWithSchema(model: Model, request: ModelRequest): Promise<ModelAnswer> {
  const { answerSchema, ...rest } = request;
  if (answerSchema === undefined) return await model.generate(request);
  const plain = { ...rest, idempotencyKey: `${request.idempotencyKey}-plain` };
  if (refusers.has(model)) return await model.generate(plain);
  const reports = new PassedOverReports(request.onPassedOver);
  try {
    return await model.generate({ ...request, onPassedOver: reports.add });
  } catch (error) {
    if (!mayRefuseSchema(error)) throw error;
    reports.repeat();
    const answer = await model.generate({ ...plain, onPassedOver: reports.add });
    refusers.add(model);
    return answer;
  }
}

/** Servers refuse a schema as a malformed request, or as a setting that they lack. */
function mayRefuseSchema(error: unknown): boolean {
  return isModelError(error, 'invalid') || (isModelError(error) && readSafely(error, 'refusesSettings') === true);
}

/** Reports each passed-over model once, although a chain that is asked again passes over the same models first. */
class PassedOverReports {
  readonly #report: ModelRequest['onPassedOver'];
  #reported = 0;
  #known = 0;

  constructor(report: ModelRequest['onPassedOver']) {
    this.#report = report;
  }

  repeat(): void {
    this.#known = this.#reported;
  }

  readonly add: NonNullable<ModelRequest['onPassedOver']> = (...passed) => {
    this.#reported += 1;
    this.#known -= 1;
    if (this.#known < 0) this.#report?.(...passed);
  };
}

import type { ModelProfile } from '../domain/model.ts';
import type { PolicyInput } from '../domain/policy.ts';
import { CATALOGUE } from './catalogue/catalogue.ts';

/** Providers announce a retirement at least this early. */
const NOTICE_DAYS = 60;
const DAY_MS = 86_400_000;

/** A model that its provider retires soon, or has retired. */
export interface Retirement {
  readonly model: string;
  /** Day of the retirement as `YYYY-MM-DD`, UTC. */
  readonly retiresOn: string;
  /** Whole days from today. Negative if the day is over. */
  readonly daysLeft: number;
}

export type NamedProfile = Pick<ModelProfile, 'id' | 'retiresOn'>;

/** @param now ms since epoch */
export function findRetirements(profiles: readonly NamedProfile[], now: number): Retirement[] {
  const found = new Map<string, Retirement>();
  for (const { id, retiresOn } of profiles) {
    if (retiresOn === undefined) continue;
    const daysLeft = (Date.parse(retiresOn) - (now - (now % DAY_MS))) / DAY_MS;
    if (daysLeft <= NOTICE_DAYS) found.set(id, { model: id, retiresOn, daysLeft });
  }
  return [...found.values()];
}

export function describeRetirement({ model, retiresOn, daysLeft }: Retirement): string {
  const when = daysLeft < 0 ? `was retired on ${retiresOn}` : `will be retired on ${retiresOn}, in ${daysLeft} days`;
  return `model ${model} ${when}: its provider then refuses all requests. Use another model`;
}

export function listNamedProfiles({ summarizer }: PolicyInput): NamedProfile[] {
  if (summarizer === undefined || typeof summarizer === 'string') return [];
  return summarizer.models.flatMap((given) => {
    const id = typeof given === 'string' ? given : given.model;
    const profile = CATALOGUE.get(id.replace(/^openai-chat\//, 'openai/'));
    return profile === undefined ? [] : [{ ...profile, id }];
  });
}

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { AnswerBody } from '../../src/api/contract/client.ts';
import type { ReportAnswer } from '../../src/api/contract/inspection.ts';
import type { Message } from '../../src/domain/message.ts';
import { findSubject, holds, INCIDENTS, type IncidentScene, openIncidents } from './incidents.ts';
import { hasTraces, readText } from './recorded-log.ts';

let scene: IncidentScene;

/** A place where a version kept or lost what the person looks for. */
interface Place {
  readonly version: number;
  readonly seq: number;
  readonly isKept: boolean;
  /** Text that stands for the message. Absent if none does. */
  readonly summary?: string;
}

/** Looks for an identifier in the reports of all versions, the newest first, as the page does. */
async function search(conversation: string, identifier: string): Promise<Place[]> {
  const path = `/v1/conversations/${conversation}/versions`;
  const { body } = await scene.http.call<AnswerBody<'versions'>>('GET', path);
  const places: Place[] = [];
  for (const { number: version } of body.versions.toReversed()) {
    const report = await scene.http.call<ReportAnswer>(
      'GET',
      `${path}/${version}/report?find=${encodeURIComponent(identifier)}`,
    );
    const { parts, evicted, shortened } = report.body;
    const found = [...parts.map((part) => ({ ...part, summary: part.text })), ...evicted, ...shortened];
    for (const { identifiers, ...part } of found) {
      const summary = 'summary' in part ? { summary: part.summary as string } : {};
      const isMeant = ({ text }: { text: string }): boolean => text.includes(identifier) || identifier.includes(text);
      const add =
        (isKept: boolean) =>
        ({ seq }: { seq: number }) =>
          places.push({ version, seq, isKept, ...summary });
      identifiers?.kept.filter(isMeant).forEach(add(true));
      identifiers?.lost.filter(isMeant).forEach(add(false));
    }
  }
  return places;
}

describe.skipIf(!hasTraces)('incidents over recorded conversations (skipped without ../shared/traces)', () => {
  beforeAll(async () => {
    scene = await openIncidents();
  });
  afterAll(() => scene?.close());

  test('the incidents ask twenty different questions', () => {
    expect(new Set(INCIDENTS.map(({ question }) => question)).size).toBe(20);
  });

  test.each(INCIDENTS.map((incident) => [incident.question, incident.source, incident.agent, incident] as const))(
    'the report of a version answers the question: %s (%s, %s)',
    async (_question, _source, _agent, incident) => {
      // First click: the conversation, with its timeline.
      const found = await scene.compacted(incident);
      const { conversation, log, context, outline } = found;
      const identifier = findSubject(found, incident);
      expect(identifier, 'the recording has such an identifier').toBeDefined();
      const wanted = identifier ?? '';
      // Second click: the search. Third click: the place.
      const places = await search(conversation, wanted);
      const place = places.find(({ isKept }) => isKept === (incident.answer === 'known'));
      expect(place, `${wanted} among ${JSON.stringify(places.slice(0, 3))}`).toBeDefined();
      const { seq = 0, version, summary } = place ?? {};
      expect(readText(log[seq - 1] as Message)).toContain(wanted);
      expect(outline[seq - 1]).toMatchObject({ by: version });
      expect(outline[seq - 1]?.state === 'summarized').toBe(summary !== undefined);
      if (incident.answer === 'forgotten') expect(holds(context, wanted)).toBe(false);
      else expect(summary ?? context).toContain(wanted);
    },
  );
});

import type { AnswerBody } from '../../../src/api/contract/client.ts';

export type Proposals = AnswerBody<'proposal'>;
export type Proposal = Proposals['proposals'][number];
export type Decision = AnswerBody<'approve'>;

/** Returns the changed summary texts by range. */
export function editsOf(
  summaries: Proposal['summaries'],
  drafts: ReadonlyMap<string, string>,
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    summaries.flatMap(({ range, text }) => {
      const draft = drafts.get(range) ?? text;
      return draft === text ? [] : [[range, draft] as const];
    }),
  );
}

/** Returns the range that a field names, e.g. 5-9 for `edits.5-9`. */
export function rangeOfField(field: string | undefined): string | undefined {
  return field?.startsWith('edits.') === true ? field.slice('edits.'.length) : undefined;
}

export function approvalCommand(conversation: string, edits: Readonly<Record<string, string>>): string {
  return `turnfold approve ${conversation}${Object.keys(edits).length === 0 ? '' : ' --edits <file>'}`;
}

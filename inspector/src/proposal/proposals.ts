import type { AnswerBody } from '../../../src/api/contract/client.ts';

export type Proposals = AnswerBody<'proposal'>;
export type Proposal = Proposals['proposals'][number];
export type Decision = AnswerBody<'approve'>;

/** Texts that a person has changed, by range. A text that is as before is no edit. */
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

/** Finds the summary that an error is about: `edits.5-9` names the range. */
export function rangeOfField(field: string | undefined): string | undefined {
  return field?.startsWith('edits.') === true ? field.slice('edits.'.length) : undefined;
}

/** Command that approves a proposal as the page would. The texts of a person need a file. */
export function approvalCommand(conversation: string, edits: Readonly<Record<string, string>>): string {
  return `turnfold approve ${conversation}${Object.keys(edits).length === 0 ? '' : ' --edits <file>'}`;
}

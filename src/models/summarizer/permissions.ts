import type { Sliced } from '../../domain/sliced.ts';
import { findSaid, type Statement, sentencesOf, stemsOf } from './grounding.ts';
import { isPermissionClaim, withoutClaim } from './permission-claims.ts';
import type { Section, Sections } from './sections.ts';

/** Borders of a word in scripts with spaces between words. */
const BEFORE = '(?<![\\p{L}\\p{N}])';
const BEHIND = '(?![\\p{L}\\p{N}])';

const GRANTING = [
  'allow|allowed|approve|approved|permit|permitted|permission|authorize|authorized|grant|granted|consent|agree|agreed|may',
  'ok|okay|yes|yep|sure|fine|go ahead|proceed|feel free|free to|confirm|confirmed|without asking|no need|ja|gern|gerne',
  'darf|darfst|dürft|dürfen|erlaube|erlaubt|genehmige|genehmigt|freigegeben|stimme zu|einverstanden|gestattet|oui|accord',
  "d'accord|autorise|autorisé|approuve|permets|vous pouvez|tu peux|sí|vale|autorizo|autorizado|apruebo|puede|puedes|sim",
  'pode|autorizo|aprovo|aprovado|разрешаю|разрешено|одобряю|можно|согласен|согласна|да',
].join('|');
/** Words with which people give permission. A text without them grants nothing. */
const GRANT = new RegExp(
  `${BEFORE}(?:${GRANTING})${BEHIND}|允许|允許|批准|同意|授权|授權|许可|可以|无需|無需|不用|好的|はい|許可|承認|いい|よい|どうぞ|승인|허가|허락|동의`,
  'iu',
);

/** Share of a claim's words that two sentences of a user must hold. */
const CLAIM_SHARE = 0.7;
const RULE_SHARE = 0.6;

/**
 * Removes claims of permission that no user text holds, in every section. The section of constraints keeps only lines
 * that a system or user text holds.
 * @param texts texts of the system and of users
 */
export function* dropUngranted(sections: Sections, texts: readonly string[]): Sliced<Sections> {
  const claims = new Map<string, Statement>();
  const rules = new Map<string, Statement>();
  for (const [section, body] of sections) {
    for (const sentence of sentencesOf(body)) {
      if (isPermissionClaim(sentence)) claims.set(sentence, readClaim(sentence));
      else if (section === 'constraints') rules.set(sentence, { stems: stemsOf(sentence), share: RULE_SHARE });
    }
  }
  const said = yield* findSaid([...claims.values(), ...rules.values()], texts);
  const isKept = (section: Section, sentence: string): boolean => {
    const statement = claims.get(sentence) ?? (section === 'constraints' ? rules.get(sentence) : undefined);
    return statement === undefined || said.has(statement);
  };
  const kept = new Map<Section, string>();
  for (const [section, body] of sections) {
    const lines = body.split('\n').flatMap((line) => keepSentences(line, (sentence) => isKept(section, sentence)));
    const text = lines.join('\n').trim();
    if (text !== '') kept.set(section, text);
  }
  return kept;
}

function readClaim(sentence: string): Statement {
  return { stems: stemsOf(withoutClaim(sentence)), share: CLAIM_SHARE, pattern: GRANT };
}

/** @returns no line if no sentence is kept */
function keepSentences(line: string, isKept: (sentence: string) => boolean): string[] {
  const sentences = sentencesOf(line);
  const kept = sentences.filter(isKept);
  if (kept.length === sentences.length) return [line];
  return kept.some((sentence) => /[\p{L}\p{N}]/u.test(sentence)) ? [kept.join(' ')] : [];
}

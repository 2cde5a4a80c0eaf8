import { partTexts } from '../../../src/compaction/evidence/fragments.ts';
import type { Message } from '../../../src/domain/message.ts';
import { SECTIONS } from '../../../src/summarize/model/sections.ts';
import { foldLine } from '../../../src/summarize/structural/text.ts';

const HEADINGS = new Set<string>(Object.values(SECTIONS).map(({ heading }) => heading));

/**
 * Finds the lines of a summary that are no quotes of its messages. A quote of a person or the agent has the number of
 * its message. Other quotes have the mark of a call or a result. Lines that code writes about calls are left out.
 */
export function findUnquoted(text: string, messages: readonly Message[], firstSeq: number): string[] {
  let heading = '';
  return text.split('\n').filter((line) => {
    if (HEADINGS.has(line)) heading = line;
    if (line === heading || heading === SECTIONS.effects.heading) return false;
    return !isQuote(line, messages, firstSeq);
  });
}

function isQuote(line: string, messages: readonly Message[], firstSeq: number): boolean {
  const [, speaker = '', seq = '', said = ''] = /^(user|system|agent) (\d+): (.*)$/u.exec(line) ?? [];
  const message = messages[Number(seq) - firstSeq];
  const role = { user: 'user', system: 'system', agent: 'assistant' }[speaker];
  if (message !== undefined && message.role === role) return holdsPieces(message.content, said);
  const [, mark = '', record = ''] = /^(→|←) (.*)$/u.exec(line) ?? [];
  const part = { '→': 'call', '←': 'result' }[mark];
  const texts = messages.flatMap(partTexts).filter((own) => own.part === part);
  return texts.some(({ text }) => holdsPieces(text, record));
}

/** Checks that the pieces between gaps stand in the text, in this order. */
function holdsPieces(text: string, said: string): boolean {
  const whole = foldLine(text).replaceAll(/\s+/g, '');
  let from = 0;
  return said.split('…').every((piece) => {
    const wanted = piece.replaceAll(/\s+/g, '');
    const at = whole.indexOf(wanted, from);
    from = at + wanted.length;
    return at !== -1;
  });
}

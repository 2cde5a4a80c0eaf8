import { FACT_KINDS, type FactKind, type PlantedFact } from '../planted.ts';
import type { Question } from './question.ts';

/** Questions for the texts of each kind of planted fact, in the order of its texts, in other words than the fact. */
type Asked = Readonly<Record<FactKind, readonly string[]>>;

const TUNED: Asked = {
  'rule of the user': [
    'which check has to run before calling a step finished',
    'how must I name a new function',
    'which label goes on the things that I change',
  ],
  'prohibition of the user': [
    'which folders am I not allowed to touch',
    'which accounts are frozen',
    'to whom may I not send anything before the user agrees',
  ],
  'fact from the user': [
    'which ticket is for this work',
    'number of the customer',
    'name of the contact on their side',
  ],
  'corrected fact': [
    'which limit did the user correct',
    'which host is right',
    'which date is right after the correction',
  ],
  'implicit wish': [
    'does the user read on a phone',
    'which person reads along with the user',
    'was the user woken up by something',
  ],
  'implicit constraint': [
    'when is it shown to the board',
    'which machine is old',
    'which person still reads the contract',
  ],
  'decision of the agent': [
    'in which table did I decide to store it',
    'which port did I decide on',
    'which version do we keep',
  ],
  'value in a result': ['which retry limit is set', 'which file had a checksum warning', 'reference in state held'],
};

const OTHER: Asked = {
  'rule of the user': ['user rule make done', 'prefixing functions for reviewers', 'user wants labels on changes'],
  'prohibition of the user': ['folder owned by another team', 'frozen account', 'sending before approval: who agrees'],
  'fact from the user': ['tickets', 'customer numbers in case needed', 'contacts of the user called'],
  'corrected fact': ['corrections of limits', 'user was wrong about hosts', 'user takes back a date'],
  'implicit wish': ['walls of text', 'colleague and jargon', 'alarms and sleeping'],
  'implicit constraint': [
    'board meeting thursday',
    'machine running out of memory',
    'wording of the contract and the lawyers',
  ],
  'decision of the agent': ['table is locked, so we stored where', 'usual port taken', 'newer version breaks imports'],
  'value in a result': ['retries limit value', 'checksum warnings', 'held state reference'],
};

/** @param seed the seed of `writeFacts`, which also chooses the text of each kind */
export function askPlanted(seed: number, facts: readonly PlantedFact[], isOther: boolean): Question[] {
  const all = isOther ? OTHER : TUNED;
  return facts.flatMap(({ kind, keys: [answer = '', ...beside] }) => {
    const texts = all[kind];
    const query = texts[seed % texts.length];
    return query === undefined || !FACT_KINDS.includes(kind) ? [] : [{ form: 'planted', query, answer, beside }];
  });
}

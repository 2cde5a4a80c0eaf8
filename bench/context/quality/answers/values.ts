import type { SourceLog } from './log.ts';
import { type AskedQuestion, type Grade, gradeAll, gradeOne, type Topic } from './topic.ts';

/** Names of things: order numbers, codes, ids. */
const THING =
  /#[A-Z]?\d{3,}|\b[a-z]+_[a-z]+_\d{3,}\b|\b(?=[A-Z0-9]*[A-Z])(?=[A-Z0-9]*\d)[A-Z0-9]{5,10}\b|\b[A-Z]{6}\b|\b\d{7,12}\b|\b[A-Z]{1,4}\d{3,}\b|\b[a-z]+_\d{5,}\b/g;
const PAIR = /["']?([A-Za-z_]{3,32})["']?\s*[:=]\s*["']?([^"',}\][{\n]{1,60})/g;
const CLOSING_MARKS = /[.;)]+$/;
const NO_VALUE = /^(?:true|false|null|none|\s*)$/i;
/** A pair belongs to the last thing before it, within these characters. */
const MAX_DISTANCE = 600;

/** Last value of each key of each thing that a text states, by thing and key. */
export function readValues(text: string): Map<string, string> {
  const things = [...text.matchAll(THING)];
  const values = new Map<string, string>();
  let next = 0;
  for (const { index, 1: key = '', 2: given = '' } of text.matchAll(PAIR)) {
    const value = given.trim().replace(CLOSING_MARKS, '');
    if (value === '' || NO_VALUE.test(value)) continue;
    while (next < things.length && (things[next]?.index ?? 0) <= index) next += 1;
    const { 0: thing, index: at = 0 } = things[next - 1] ?? {};
    if (thing !== undefined && thing !== value && index - at < MAX_DISTANCE) values.set(nameOf(thing, key), value);
  }
  return values;
}

function nameOf(thing: string, key: string): string {
  return `${thing}|${key}`;
}

interface Value {
  readonly name: string;
  readonly value: string;
  /** The agent uses it in its next messages. */
  readonly isUsed: boolean;
}

const RECORD = /^\s*[[{]/;
const MIN_RECORDS = 2;
const MIN_USED_CHARS = 3;
const MAX_ASKED = 5;

/** Last values of the things of a log, e.g. the status of an order. Only logs whose results are records are asked. */
export function findValues({ messages, text, later }: SourceLog): Topic | undefined {
  const records = messages.filter(({ role, content }) => role === 'tool' && RECORD.test(content));
  if (records.length < MIN_RECORDS) return undefined;
  const all = [...readValues(text)].map(
    ([name, value]): Value => ({ name, value, isUsed: value.length >= MIN_USED_CHARS && later.includes(value) }),
  );
  if (all.length === 0) return undefined;
  const used = all.filter(({ isUsed }) => isUsed);
  return {
    grade: (context) => {
      const stated = readValues(context.text);
      const gradeStated = (asked: readonly Value[]): Grade =>
        gradeAll(asked.map(({ name, value }) => compare(stated.get(name), value)));
      return { value: gradeStated(all), ...(used.length === 0 ? {} : { usedValue: gradeStated(used) }) };
    },
    asked: used.slice(-MAX_ASKED).map(askValue),
  };
}

function compare(stated: string | undefined, value: string): 'right' | 'wrong' | undefined {
  if (stated === undefined) return undefined;
  return stated === value ? 'right' : 'wrong';
}

function askValue({ name, value }: Value): AskedQuestion {
  const [thing = '', key = ''] = name.split('|');
  return {
    kinds: ['usedValue'],
    text: `State the last known value of "${key}" of ${thing}. Write only the value.`,
    grade: (answer) => {
      const isRight = answer.includes(value);
      return gradeOne(isRight, !isRight && answer.trim() !== '');
    },
  };
}

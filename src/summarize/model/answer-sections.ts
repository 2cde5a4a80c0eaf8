import { readJsonText } from '../../domain/json-text.ts';
import { isMapping } from '../../domain/parse.ts';
import { ASKED_SECTIONS, orderSections, type Section, type Sections } from './sections.ts';

/** Names a section's tag: `goal-k3f9`. The mark is new in each request, so text of the conversation cannot hold the tag. */
export function tagOf(section: Section, mark: string): string {
  return `${section}-${mark}`;
}

const TAG = /<(\/?)([\p{L}_ ]{1,39})(?:-(\w{1,16}))?>/giu;

/** Removes the tags around sections, so that only the text counts that the model wrote. */
export function withoutTags(text: string, mark: string): string {
  return text.replace(TAG, (tag, _, name: string, given?: string) =>
    given === mark && sectionNamed(name) !== undefined ? '' : tag,
  );
}

/**
 * Reads the sections of a model's answer. If the answer has the tags of its request, only these tags open and close
 * sections. Otherwise headings, plain tags or the keys of a JSON object name them, in one of ten languages. An answer with
 * other headings is read as the state of the work.
 */
export function readAnswerSections(text: string, mark: string): Sections {
  const marked = readMarked(text, mark);
  if (marked !== undefined) return marked;
  const plain = withoutFence(text);
  const object = readObject(plain);
  if (object !== undefined) return object;
  for (const findHeading of [findMarkedHeading, findLabel]) {
    const read = readHeadings(plain, findHeading);
    if (read.sections.size > 0) return read.sections;
    if (read.headings >= MIN_HEADINGS) return orderSections(new Map([['state', plain]]));
  }
  return new Map();
}

/** Headings that show that a text in another language is a summary and no answer to the conversation. */
const MIN_HEADINGS = 2;

function readMarked(text: string, mark: string): Sections | undefined {
  const bodies = new Map<Section, string>();
  let open: { readonly section: Section; readonly start: number } | undefined;
  const close = (end: number): void => {
    if (open === undefined) return;
    const body = text.slice(open.start, end);
    bodies.set(open.section, [bodies.get(open.section) ?? '', body].join('\n'));
    open = undefined;
  };
  for (const match of text.matchAll(TAG)) {
    const [tag, slash, name = '', given] = match;
    const section = given === mark ? ASKED_SECTIONS.find((asked) => asked === name.trim().toLowerCase()) : undefined;
    if (section === undefined) continue;
    if (slash === '' || open?.section === section) close(match.index);
    if (slash === '') open = { section, start: match.index + tag.length };
  }
  const wasOpened = open !== undefined || bodies.size > 0;
  close(text.length);
  return wasOpened ? orderSections(mapBodies(bodies, withoutTagLines)) : undefined;
}

function mapBodies(bodies: ReadonlyMap<Section, string>, map: (body: string) => string): Map<Section, string> {
  return new Map([...bodies].map(([section, body]) => [section, map(body)]));
}

/** Leaves out lines that are only the tag of a section, which a model may add without its mark. */
function withoutTagLines(body: string): string {
  return body
    .split('\n')
    .filter((line) => !isTagLine(line))
    .join('\n');
}

function isTagLine(line: string): boolean {
  const name = /^<\/?([\p{L} _]{1,39})>$/u.exec(line.trim())?.[1];
  return name !== undefined && sectionNamed(name) !== undefined;
}

function withoutFence(text: string): string {
  const said = text.trim();
  const [start, end] = [said.indexOf('\n'), said.lastIndexOf('\n')];
  return said.startsWith('```') && said.slice(end).trim() === '```' && start < end ? said.slice(start + 1, end) : text;
}

function readObject(text: string): Sections | undefined {
  const value = parseObject(text);
  if (value === undefined) return undefined;
  const bodies = new Map<Section, string>();
  for (const [key, body] of Object.entries(value)) {
    const section = sectionNamed(key.replaceAll('_', ' '));
    if (section !== undefined) bodies.set(section, writeValue(body));
  }
  return bodies.size === 0 ? undefined : orderSections(bodies);
}

function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  if (!text.trimStart().startsWith('{')) return undefined;
  const value = readJsonText(text);
  return isMapping(value) ? value : undefined;
}

function writeValue(value: unknown): string {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return value.map((item) => `- ${writeValue(item)}`).join('\n');
  return value === null || value === undefined ? '' : JSON.stringify(value);
}

interface Heading {
  readonly name: string;
  /** Text behind the name in the same line. */
  readonly rest: string;
}

type HeadingFinder = (line: string) => Heading | undefined;

/** Characters of the longest name of a section. Longer lines are no headings. */
const MAX_NAME_CHARS = 80;
const NUMBER = /^\d{1,2}[.)、]/;

/** `## Goal`, `**Goal:**`, `1. **Goal**`, `【目标】 …`, `<goal>…` */
function findMarkedHeading(line: string): Heading | undefined {
  const said = line.trim();
  if (said.startsWith('#')) return { name: said.slice(0, MAX_NAME_CHARS), rest: '' };
  const open = /^<[\p{L}_ ]{1,39}>/u.exec(said)?.[0];
  if (open !== undefined) return { name: open, rest: said.slice(open.length).trim() };
  if (said.startsWith('【')) return splitAt(said, '】');
  const bold = findBold(said);
  return bold !== undefined && /^[:：]?$/.test(bold.rest) ? { ...bold, rest: '' } : undefined;
}

function findBold(said: string): Heading | undefined {
  const plain = said.replace(NUMBER, '').trim();
  if (!plain.startsWith('**')) return undefined;
  const found = splitAt(plain.slice(2), '**');
  return found && { name: found.name, rest: found.rest };
}

/** A name before a colon, or in a numbered line: `**Goal:** Move`, `目标：`, `1. Goal`. */
function findLabel(line: string): Heading | undefined {
  const said = line.trim();
  const plain = said.replace(NUMBER, '').trim();
  const bold = findBold(said);
  const candidates = [
    findMarkedHeading(line),
    bold && { ...bold, rest: bold.rest.replace(/^[:：]/, '').trim() },
    splitAt(plain, ':'),
    splitAt(plain, '：'),
    plain === said ? undefined : { name: plain.slice(0, MAX_NAME_CHARS), rest: '' },
  ];
  return candidates.find((label) => label && (sectionNamed(label.name) !== undefined || isCodeWritten(label.name)));
}

/** Splits a line at the end of a name. */
function splitAt(said: string, mark: string): Heading | undefined {
  const at = said.indexOf(mark);
  return at < 1 || at > MAX_NAME_CHARS
    ? undefined
    : { name: said.slice(0, at), rest: said.slice(at + mark.length).trim() };
}

/** Splits a line from the closing tag at its end. */
function splitClosing(line: string): { readonly said: string; readonly isClosed: boolean } {
  const said = line.trimEnd();
  const at = said.lastIndexOf('</');
  const isClosed = at !== -1 && /^<\/[\p{L} _]{1,39}>$/u.test(said.slice(at));
  return { said: isClosed ? said.slice(0, at) : line, isClosed };
}

/** @returns the sections, and the number of headings, also of those that name no section */
function readHeadings(
  text: string,
  findHeading: HeadingFinder,
): { readonly sections: Sections; readonly headings: number } {
  const bodies = new Map<Section, string[]>();
  let body: string[] = [];
  let headings = 0;
  for (const line of text.split('\n')) {
    const heading = findHeading(line);
    const section = heading && sectionNamed(heading.name);
    if (heading === undefined) {
      const { said, isClosed } = splitClosing(line);
      body.push(said);
      if (isClosed) body = [];
      continue;
    }
    headings += 1;
    if (section === undefined) {
      if (isCodeWritten(heading.name)) body = [];
      else body.push(line);
      continue;
    }
    const { said, isClosed } = splitClosing(heading.rest);
    body = bodies.get(section) ?? [];
    bodies.set(section, body);
    if (said !== '') body.push(said);
    if (isClosed) body = [];
  }
  return { sections: orderSections(new Map([...bodies].map(([name, said]) => [name, said.join('\n')]))), headings };
}

/**
 * Names under which models write a section if they write headings although they were asked for tags. Models write headings
 * in the language of the conversation. Names are in lower case, separated by `|`.
 */
const NAMES: Readonly<Partial<Record<Section, readonly string[]>>> = {
  goal: [
    'goal|goals|objective|purpose|ziel|ziele|zweck|objectif|but|objetivo|meta|obiettivo|цель|目标|目標|目的|ゴール',
    '목표',
  ],
  requests: [
    'requests|user requests|user request|anfragen|nutzeranfragen|anfragen des nutzers|wünsche',
    "anforderungen|demandes|demandes de l'utilisateur|demandes de l’utilisateur|solicitudes|peticiones",
    'solicitudes del usuario|pedidos|pedidos do usuário|richieste|запросы|запросы пользователя|用户请求|用户要求',
    '用戶請求|请求|ユーザーの要望|ユーザーの依頼|要望|依頼|사용자 요청|요청',
  ],
  constraints: [
    'constraints|security constraints|permissions|einschränkungen|vorgaben|sicherheitsvorgaben',
    'contraintes|restricciones|restrições|vincoli|ограничения|约束|限制|約束|制約|제약',
  ],
  decisions: [
    'decisions|decision|entscheidungen|décisions|decisiones|decisões|decisioni|решения|决定|决策|決定|決定事項|결정',
  ],
  state: [
    'state|status|current state|progress|stand|zustand|aktueller stand|état|avancement|estado|stato',
    'состояние|статус|状态|现状|当前状态|狀態|進捗|状況|状態|상태',
  ],
  facts: ['facts|findings|key facts|fakten|erkenntnisse|faits|hechos|datos|fatos|fatti|факты|事实|事實|事実|発見|사실'],
  failures: [
    'failures|failed attempts|fehlversuche|fehlgeschlagene versuche|échecs|tentatives échouées',
    'intentos fallidos|fallos|tentativas falhas|falhas|tentativi falliti|неудачные попытки|失败的尝试|失败尝试',
    '失敗的嘗試|失敗した試み|失敗|실패한 시도',
  ],
  open: [
    'open|open questions|offene fragen|questions ouvertes|preguntas abiertas|perguntas em aberto',
    'domande aperte|открытые вопросы|未解决的问题|待解决问题|未決問題|未解決の問題|未解決の質問|미해결 질문',
  ],
  next: [
    'next|next step|next steps|nächster schritt|nächste schritte|étape suivante|prochaine étape',
    'prochaines étapes|siguiente paso|próximo paso|próximos pasos|próximo passo|próximos passos',
    'prossimo passo|следующий шаг|下一步|下一步骤|後續步驟|次のステップ|次の手順|다음 단계',
  ],
};

/** Names of the sections that only code may write, as a model might spell them. */
const CODE_WRITTEN = /^(?:artifacts?|side effects?|lines from the log)(?![\p{L}\p{N}])/u;

const sections = new Map(
  Object.entries(NAMES).flatMap(([section, lines]) =>
    lines.flatMap((line) => line.split('|').map((name) => [name, section as Section] as const)),
  ),
);

/** @returns undefined if no section has that name */
function sectionNamed(name: string): Section | undefined {
  return sections.get(foldName(name));
}

function isCodeWritten(name: string): boolean {
  return CODE_WRITTEN.test(foldName(name));
}

/** Removes marks of headings and lists, numbers before a name, and brackets around it. */
function foldName(name: string): string {
  return name
    .replace(/[#*_:：【】[\]«»<>]+/gu, ' ')
    .replace(/^\s*\d{1,2}[.)、]/u, ' ')
    .trim()
    .replace(/\s+/gu, ' ')
    .toLowerCase();
}

import type { TokenCounter } from '../../wire/tokens/token-counter.ts';
import type { Speaker } from './log-quotes.ts';

const PEOPLE = ['user', 'system'] as const;
const SPEECH = [...PEOPLE, 'agent'] as const;
const ALL = [...SPEECH, 'call', 'result'] as const;

/**
 * Sections of a summary, in their order. Code writes the sections without `asks`.
 * - `asks` tells the model what to choose.
 * - `from` says whose words a section may hold, because no tool or file states a rule or the next step.
 * - `names` are headings that models write instead of tags, in the language of the conversation. They are in lower
 *   case, separated by `|`.
 */
export const SECTIONS = {
  goal: {
    heading: '## Goal',
    asks: 'the end that the user has in mind',
    from: PEOPLE,
    names: [
      'goal|goals|objective|purpose|ziel|ziele|zweck|objectif|but|objetivo|meta|obiettivo|цель|目标|目標|目的|ゴール',
      '목표',
    ],
  },
  requests: {
    heading: '## User requests',
    asks: 'every request of the user',
    from: PEOPLE,
    names: [
      'requests|user requests|user request|anfragen|nutzeranfragen|anfragen des nutzers|wünsche',
      "anforderungen|demandes|demandes de l'utilisateur|demandes de l’utilisateur|solicitudes|peticiones",
      'solicitudes del usuario|pedidos|pedidos do usuário|richieste|запросы|запросы пользователя|用户请求|用户要求',
      '用戶請求|请求|ユーザーの要望|ユーザーの依頼|要望|依頼|사용자 요청|요청',
    ],
  },
  constraints: {
    heading: '## Constraints',
    asks: 'permissions, refusals and rules of security, in the words of the user',
    from: PEOPLE,
    names: [
      'constraints|security constraints|permissions|einschränkungen|vorgaben|sicherheitsvorgaben',
      'contraintes|restricciones|restrições|vincoli|ограничения|约束|限制|約束|制約|제약',
    ],
  },
  decisions: {
    heading: '## Decisions',
    asks: 'every decision with its reason',
    from: SPEECH,
    names: [
      'decisions|decision|entscheidungen|décisions|decisiones|decisões|decisioni|решения|决定|决策|決定|決定事項|결정',
    ],
  },
  state: {
    heading: '## State',
    asks: 'finished work, unfinished work, and how things stand now',
    from: ALL,
    names: [
      'state|status|current state|progress|stand|zustand|aktueller stand|état|avancement|estado|stato',
      'состояние|статус|状态|现状|当前状态|狀態|進捗|状況|状態|상태',
    ],
  },
  facts: {
    heading: '## Facts',
    asks: 'findings that may be needed again: names, figures, ids, error texts',
    from: ALL,
    names: [
      'facts|findings|key facts|fakten|erkenntnisse|faits|hechos|datos|fatos|fatti|факты|事实|事實|事実|発見|사실',
    ],
  },
  effects: { heading: '## Side effects already done' },
  lines: { heading: '## Lines from the log' },
  failures: {
    heading: '## Failed attempts',
    asks: 'attempts that did not work, and why',
    from: ALL,
    names: [
      'failures|failed attempts|fehlversuche|fehlgeschlagene versuche|échecs|tentatives échouées',
      'intentos fallidos|fallos|tentativas falhas|falhas|tentativi falliti|неудачные попытки|失败的尝试|失败尝试',
      '失敗的嘗試|失敗した試み|失敗|실패한 시도',
    ],
  },
  open: {
    heading: '## Open questions',
    asks: 'questions without an answer yet',
    from: SPEECH,
    names: [
      'open|open questions|offene fragen|questions ouvertes|preguntas abiertas|perguntas em aberto',
      'domande aperte|открытые вопросы|未解决的问题|待解决问题|未決問題|未解決の問題|未解決の質問|미해결 질문',
    ],
  },
  next: {
    heading: '## Next step',
    asks: 'the next thing that the agent was about to do',
    from: SPEECH,
    names: [
      'next|next step|next steps|nächster schritt|nächste schritte|étape suivante|prochaine étape',
      'prochaines étapes|siguiente paso|próximo paso|próximos pasos|próximo passo|próximos passos',
      'prossimo passo|следующий шаг|下一步|下一步骤|後續步驟|次のステップ|次の手順|다음 단계',
    ],
  },
} as const satisfies Readonly<
  Record<string, { heading: string; asks?: string; from?: readonly Speaker[]; names?: readonly string[] }>
>;

export type Section = keyof typeof SECTIONS;
export type Sections = ReadonlyMap<Section, string>;

const names = Object.keys(SECTIONS) as Section[];
const headings = new Map<string, Section>(names.map((name) => [SECTIONS[name].heading, name]));

export const ASKED_SECTIONS: readonly Section[] = names.filter((name) => 'asks' in SECTIONS[name]);

const HEADING_MARKS = /^[ \t]{0,3}#{1,6}[ \t]+/gm;

/** Joins sections. A body has no headings, so that it opens no section when the summary is read again. */
export function orderSections(bodies: ReadonlyMap<Section, string>): Sections {
  const read = names.map((name): [Section, string] => [
    name,
    (bodies.get(name) ?? '').replace(HEADING_MARKS, '').trim(),
  ]);
  return new Map(read.filter(([, written]) => written !== ''));
}

export function readSections(text: string): Sections {
  const bodies = new Map<Section, string>();
  let section: Section | undefined;
  for (const line of text.split('\n')) {
    const opened = headings.get(line.trim());
    if (opened !== undefined) section = opened;
    else if (section !== undefined && ASKED_SECTIONS.includes(section))
      bodies.set(section, `${bodies.get(section) ?? ''}${line}\n`);
  }
  return orderSections(bodies);
}

export function renderSections(sections: Sections): string {
  return names
    .flatMap((name) => (sections.has(name) ? [`${SECTIONS[name].heading}\n${sections.get(name)}`] : []))
    .join('\n');
}

/** Fits sections into a size. They take turns by their tokens, so that one long list does not displace the others. */
export function fitSections(
  counter: Pick<TokenCounter, 'countSync'>,
  sections: ReadonlyMap<Section, readonly string[]>,
  maxTokens: number,
): Sections {
  const open = [...sections].map(([name, lines]) => ({ name, lines, next: 0, tokens: 0, taken: [] as string[] }));
  let left = maxTokens;
  for (;;) {
    const [section] = open
      .filter(({ lines, next }) => next < lines.length)
      .toSorted((a, b) => a.tokens - b.tokens || a.next - b.next);
    if (section === undefined) break;
    const line = section.lines[section.next] as string;
    section.next += 1;
    const heading = section.taken.length === 0 ? counter.countSync(`${SECTIONS[section.name].heading}\n\n`) : 0;
    const tokens = counter.countSync(line) + 1;
    if (tokens + heading > left) continue;
    left -= tokens + heading;
    section.tokens += tokens;
    section.taken.push(line);
  }
  return orderSections(new Map(open.map(({ name, taken }) => [name, taken.join('\n')])));
}

/** Names of sections that only code may write, as a model might spell them. */
const CODE_WRITTEN = /^(?:artifacts?|side effects?|lines from the log)(?![\p{L}\p{N}])/u;

const sectionOf = new Map(
  names.flatMap((section) => {
    const row = SECTIONS[section];
    const lines: readonly string[] = 'names' in row ? row.names : [];
    return lines.flatMap((line) => line.split('|').map((name) => [name, section] as const));
  }),
);

export function sectionNamed(name: string): Section | undefined {
  return sectionOf.get(foldName(name));
}

export function isCodeWritten(name: string): boolean {
  return CODE_WRITTEN.test(foldName(name));
}

function foldName(name: string): string {
  return name
    .replace(/[#*_:：【】[\]«»<>]+/gu, ' ')
    .replace(/^\s*\d{1,2}[.)、]/u, ' ')
    .trim()
    .replace(/\s+/gu, ' ')
    .toLowerCase();
}

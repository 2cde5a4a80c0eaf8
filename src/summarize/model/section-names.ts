import type { Section } from './sections.ts';

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
export function sectionNamed(name: string): Section | undefined {
  return sections.get(foldName(name));
}

export function isCodeWritten(name: string): boolean {
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

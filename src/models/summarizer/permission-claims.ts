/** A claim: one of the first words, and soon behind it a word that begins as one of the others. */
interface ClaimRule {
  readonly first: ReadonlySet<string>;
  readonly starts: readonly string[];
  /** Words between the two, at most. */
  readonly apart: number;
}

const rule = (first: string, starts: string, apart: number): ClaimRule => ({
  first: new Set(first.split(' ')),
  starts: starts.split(' '),
  apart,
});

const GRANTED = 'approved authorized authorised allowed permitted granted consented agreed';
/** Claims that a person permitted something, in languages with spaces between words. */
const CLAIMS: readonly ClaimRule[] = [
  rule(
    'user users customer customers client clients admin admins administrator owner operator manager boss they he she team',
    `${GRANTED} signed gave`,
    3,
  ),
  rule('agent assistant you we i', 'allowed permitted authorized authorised cleared entitled free', 3),
  rule('permission permissions approval authorization authorisation consent clearance', 'granted given obtained', 3),
  rule('approved authorized authorised preapproved pre-approved', 'by', 0),
  rule(
    'nutzer benutzer kunde kundin admin chef betreiber user er sie hat haben wurde wurden ist sind',
    'genehmigt erlaubt freigegeben gestattet autorisiert bewilligt zugestimmt eingewilligt',
    12,
  ),
  rule('erlaubnis genehmigung freigabe zustimmung einwilligung', 'erteilt liegt gegeben vor', 4),
  rule('agent assistent assistentin du ich wir', 'darf darfst dürfen', 0),
  rule('a ont avait est été', 'autoris approuv permis consenti validé accordé', 2),
  rule('autorisation permission accord consentement', 'accordé donné obtenu reçu', 3),
  rule('ha han está queda fue tem foi già', 'autoriz aprob aprov permiti permesso concesso concedid consentid', 3),
  rule('usuario usuaria cliente usuário utente', 'autorizó aprobó permitió autorizou aprovou permitiu autorizza', 3),
  rule('permiso autorización permissão autorização permesso autorizzazione', 'concedid otorgad dad obtenid concess', 3),
  rule('пользователь клиент администратор он она', 'разрешил одобрил позволил согласил', 3),
  rule('разрешение одобрение согласие', 'получено дано выдано', 3),
];
/** Claims that no person must be asked. Behind a negation they are restrictions: "never delete without confirmation". */
const UNASKED: readonly ClaimRule[] = [
  rule('without', 'asking approval confirm permission consent', 2),
  rule('no', 'approval confirmation permission consent', 1),
  rule('ohne keine', 'rückfrage nachfrage bestätigung genehmigung freigabe', 1),
  rule('sans aucune', 'confirmation demander autorisation validation', 1),
  rule('sin sem senza', 'confirm permis autoriz preguntar perguntar chiedere conferma', 2),
  rule('без', 'подтверждени разрешени согласовани', 1),
];
const NEEDED = ['needed', 'required', 'necessary', 'nötig', 'erforderlich', 'notwendig', 'nécessaire', 'requise'];

const UNSPACED_CLAIM =
  /(?:用户|用戶|客户|管理员|老板)[已经經也明确都刚]{0,6}(?:批准|授权|授權|同意|允许|允許|许可)|(?:获得|得到)(?:批准|授权|许可|同意)|被允许|(?:許可|承認|認可|同意)(?:済み|された|されました|されています|しました|した|を得)|(?:승인|허가|허락|동의)(?:했|함|하였|되었|됨|받)/u;
const UNSPACED_UNASKED =
  /(?:无需|无须|不需要|不用|無需)(?:再次|用户)?(?:确认|確認|批准|授权|询问)|確認は?(?:不要|なし)|확인 없이/u;
const UNSPACED_NEGATION = /不得|不要|不能|请勿|严禁|禁止|ない|않|마세요/u;

const NEGATIONS = new Set(
  [
    "not never cannot don't doesn't didn't won't can't isn't wasn't aren't weren't mustn't shouldn't nicht nie niemals",
    'kein keine keinen ne pas jamais nunca jamás não mai non не нельзя никогда only nur',
  ]
    .join(' ')
    .split(' '),
);
/** Words that say who permitted, and that it was permitted. */
const FRAME = new Set(
  [
    'the and has have had was were been that this for with already explicitly to agent assistant they you der die das den dem',
    'für und est une les des ont pour los las una para al del',
    'el la le il also now fully l utilisateur hat haben wurde',
  ]
    .join(' ')
    .split(' '),
);

const WORD = /[\p{L}\p{N}_]+(?:['’-][\p{L}\p{N}_]+)*/gu;

/** @returns the words of a sentence in lower case */
function wordsOfSentence(sentence: string): string[] {
  return (sentence.toLowerCase().match(WORD) ?? []).map((word) => word.replaceAll('’', "'"));
}

export function isPermissionClaim(sentence: string): boolean {
  const words = wordsOfSentence(sentence);
  if (CLAIMS.some((claim) => findClaim(words, claim) !== undefined)) return true;
  const unasked = UNASKED.some((claim) => {
    const at = findClaim(words, claim);
    const isNeeded = claim.first.has('no') ? words.some((word) => NEEDED.includes(word)) : true;
    return at !== undefined && isNeeded && !words.slice(0, at).some((word) => NEGATIONS.has(word));
  });
  if (unasked) return true;
  const [claim, question] = [UNSPACED_CLAIM.exec(sentence), UNSPACED_UNASKED.exec(sentence)];
  return [claim, question].some((found) => found !== null && !UNSPACED_NEGATION.test(sentence.slice(0, found.index)));
}

/** Finds the first word of a claim. A negation between its words makes it a restriction. */
function findClaim(words: readonly string[], { first, starts, apart }: ClaimRule): number | undefined {
  for (const [at, word] of words.entries()) {
    if (!first.has(word)) continue;
    const next = words.slice(at + 1, at + 2 + apart);
    const end = next.findIndex((other) => starts.some((start) => other.startsWith(start)));
    if (end === -1 || next.slice(0, end).some((other) => NEGATIONS.has(other))) continue;
    if (!NEGATIONS.has(words[at + 2 + end] ?? '')) return at;
  }
  return undefined;
}

/** Removes the words that say who permitted, and that it was permitted. The rest says what is permitted. */
export function withoutClaim(sentence: string): string {
  const plain = sentence.replace(UNSPACED_CLAIM, ' ').replace(UNSPACED_UNASKED, ' ');
  return plain.replace(WORD, (word) => (isOfClaim(word.toLowerCase()) ? ' ' : word));
}

function isOfClaim(word: string): boolean {
  if (FRAME.has(word)) return true;
  return [...CLAIMS, ...UNASKED].some(
    ({ first, starts }) => first.has(word) || starts.some((start) => word.startsWith(start)),
  );
}

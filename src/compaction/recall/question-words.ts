/**
 * Words that a question has and its answer has not, in the languages that agents mostly speak. A short log has few
 * lines, so that the rarity of a word there does not show that the word means nothing.
 */
const FRAME_WORDS = new Set(
  (
    'a|about|after|again|ago|all|also|am|an|and|any|anything|are|as|at|be|because|been|before|being|but|by|can|could|did|do|does|doing|done|down|each|' +
    'either|else|ever|every|exactly|for|from|get|got|had|has|have|having|he|her|here|hers|him|his|how|i|if|in|into|is|it|its|just|let|like|' +
    'many|may|me|might|mine|more|most|much|must|my|need|no|nor|not|of|off|on|once|one|only|onto|or|other|our|out|over|please|said|same|say|' +
    'says|she|should|so|some|something|such|tell|than|that|the|their|them|then|there|these|they|thing|things|this|those|through|to|too|under|until|up|us|' +
    'use|used|using|very|was|way|we|were|what|when|where|whether|which|while|who|whom|whose|why|will|with|without|would|you|your|' +
    'al|algo|aquí|como|cómo|con|cual|cuál|cuando|cuándo|de|del|desde|donde|dónde|el|ella|ellos|en|era|es|esa|ese|eso|esta|está|este|esto|' +
    'fue|ha|había|hay|hizo|la|las|le|les|lo|los|más|me|mi|mis|muy|nos|o|para|pero|por|porque|que|qué|quien|quién|se|ser|si|sí|sin|sobre|' +
    'son|su|sus|también|tu|un|una|uno|usted|y|ya|' +
    'als|am|an|auch|auf|aus|bei|bin|bis|da|das|dass|dem|den|der|des|die|doch|du|ein|eine|einem|einen|einer|er|es|etwas|für|habe|haben|hat|hatte|' +
    'ich|ihr|im|in|ist|ja|kann|man|mein|mich|mir|mit|nach|nicht|noch|nur|ob|oder|schon|sein|sich|sie|sind|so|über|um|und|uns|von|vor|war|' +
    'waren|warum|was|welche|welchem|welchen|welcher|welches|wenn|wer|wie|wir|wird|wo|wurde|zu|zum|zur|' +
    'au|aux|avec|ce|ces|cette|dans|de|des|du|elle|en|est|et|était|être|eu|il|ils|je|la|le|les|leur|ma|mais|mes|mon|nous|on|ou|où|par|pas|' +
    'plus|pour|pourquoi|quand|que|quel|quelle|quels|qui|quoi|sa|sans|se|ses|son|sont|sur|te|toi|tu|un|une|vous'
  ).split('|'),
);
const HIRAGANA = /^[\u3040-\u309f\u30fc]+$/;
/** Chinese characters that mostly join or ask. A pair of characters with one of them names nothing. */
const JOINING = /[的了是吗呢吧么什哪怎谁几在我你您他她它们这那和与或就都也还个把被让给从到对于之]/;
const IS_WIDE = /^[\u3040-\u9fff]/;

export function isFrameWord(word: string): boolean {
  if (IS_WIDE.test(word)) return HIRAGANA.test(word) || JOINING.test(word);
  return /^[a-z]{1,2}$/.test(word) || FRAME_WORDS.has(word);
}

/** Kinds of lines that a question asks for, beside its topic. */
export interface Cues {
  /** 1 if the newest messages are asked for, -1 for the oldest, 0 for any. */
  readonly age: -1 | 0 | 1;
  readonly asksFailure: boolean;
  readonly asksUser: boolean;
  readonly asksNumber: boolean;
}

const LAST =
  /(?<!\p{L})(?:last|latest|recent(?:ly)?|newest|most recent|currently|finally|últim[oa]s?|letzte[rnms]?|zuletzt|neueste[rns]?|derni(?:er|ère)s?)(?!\p{L})|最后|最近|最新|刚才|最後|さっき/u;
const FIRST =
  /(?<!\p{L})(?:first|initial(?:ly)?|original(?:ly)?|earliest|primer[oa]?|inicial(?:mente)?|erste[rnms]?|anfangs|ursprünglich\p{L}*|premi(?:er|ère)s?)(?!\p{L})|最初|第一|一开始|开头|初めて/u;
const FAILURE =
  /(?<!\p{L})(?:fail(?:s|ed|ure|ures|ing)?|errors?|exceptions?|crash(?:ed)?|wrong|broken?|errores|falló|fallos?|fehler|fehlgeschlagen|erreurs?|échec)(?!\p{L})|错误|失败|报错|エラー|失敗/u;
const USER =
  /(?<!\p{L})(?:users?|customers?|person|ask(?:s|ed)? (?:for|me)|requests?|requested|wants?|wishes|instructions?|usuari[oa]|cliente|pidió|benutzer|nutzer|kunde|utilisateur|client)(?!\p{L})|用户|客户|ユーザー?|お客様/u;
const NUMBER =
  /(?<!\p{L})(?:how (?:many|much|long|old|often)|numbers?|counts?|prices?|costs?|amounts?|totals?|cuánt[oa]s?|precios?|wie ?viele?|preis|combien|prix)(?!\p{L})|多少|几个|价格|号码|いくら|いくつ|何[個円時分人]|番号/u;
const CUE_WORDS = [LAST, FIRST, FAILURE, USER, NUMBER];

export function readCues(phrase: string): Cues {
  return {
    age: LAST.test(phrase) ? 1 : FIRST.test(phrase) ? -1 : 0,
    asksFailure: FAILURE.test(phrase),
    asksUser: USER.test(phrase),
    asksNumber: NUMBER.test(phrase),
  };
}

/** True for a word that says what is asked for. It may also be a word of the topic, so that it counts less. */
export function isCueWord(word: string): boolean {
  return CUE_WORDS.some((pattern) => pattern.test(word));
}

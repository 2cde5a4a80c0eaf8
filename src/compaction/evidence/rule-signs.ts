/**
 * Signs that a sentence of a user states a rule. Languages have words that forbid, demand, limit or wish. Signs of any
 * language are a limit with a number and an emphasised word. A sign only orders what users said. A sentence without a
 * sign is still copied if there is room.
 */

/** `binding`: forbids, demands or limits. `wished`: asks for something, or prefers it. */
export type RuleSign = 'binding' | 'wished';

/** Words of languages with blanks between words. They are compared without case. */
const BINDING_WORDS = [
  // English
  "must(?:n['’]?t)?|never|always|only|cannot|can['’]?t|do(?:es)?(?: not|n['’]?t)|shall|should(?: not|n['’]?t)?|ensure|make sure|without|avoid|require[sd]?|forbidden|(?:not )?allowed|at (?:most|least)|no (?:more|less|later|longer|need)|under no|(?:have|has|need|needs|ought) to|nothing may|may not|not to|unless|until|instead(?: of)?|rather than|rule|remember",
  // German
  'muss|musst|müssen|soll(?:st|en|te|ten)?|darf(?:st)?|dürfen|nie(?:mals)?|immer|nur|ohne|nicht|kein(?:e[nmrs]?)?|höchstens|mindestens|statt|außer|bis (?:zum|zur)|achte|vermeide',
  // Spanish and Portuguese
  'debe[ns]?|deben|hay que|nunca|siempre|s[oó]lo|solamente|sin|evit(?:a|e|ar)|tien(?:e|es|en) que|como m[aá]ximo|al menos|no (?:quiero|puede[ns]?|debe[ns]?|uses?|hagas?|toques?|borres?|cambies?)|en vez de|dev(?:e|em|es)|sempre|apenas|somente|sem|n[aã]o (?:pode|deve|quero|use|fa[cç]a)',
  // French and Italian
  "doi(?:t|s|vent)|jamais|toujours|seulement|uniquement|sans|interdit|faut|ne [\\p{L}'’]+ (?:pas|rien|jamais)|au (?:plus|moins)|deve|devono|mai|solo|soltanto|senza|bisogna|non (?:voglio|deve|puoi|usare|fare|toccare)",
  // Dutch and Polish
  'moet(?:en)?|mag niet|mogen niet|nooit|altijd|alleen|zonder|niet|musi(?:sz)?|nigdy|zawsze|tylko|bez|nie wolno|należy',
  // Russian and Turkish
  'долж(?:ен|на|но|ны)|никогда|всегда|только|нельзя|без|обязательно|необходимо|надо|нужно|не (?:надо|делай|делайте|используй|используйте|трогай|удаляй)|asla|her zaman|sadece|yalnızca|olmadan|mutlaka|gerek(?:iyor|li)?',
].join('|');
const WISHED_WORDS = [
  "please|prefer(?:ably|red)?|want(?:s|ed)?|need(?:s|ed)?|would (?:like|love|rather)|i['’]d (?:like|love|rather|prefer)|i wish|let['’]?s|let us|better|use|keep|correction|wrong about|take back|as (?:short|few|little|soon) as|willing|okay with|if (?:possible|there|it|you|that)|also|rather",
  'bitte|möchte[nst]*|will|wollen|brauche[n]?|lieber|hätte gern|wäre gut|falls|wenn',
  'por favor|quier[oe]|queremos|quisiera|necesit[oa]|prefier[oe]|me gustar[ií]a|mejor|si es posible|quero|preciso|prefiro|gostaria',
  "s['’]il (?:te|vous) pla[iî]t|veux|voudrais|pr[eé]f[eè]re|besoin|plut[oô]t|per favore|vorrei|voglio|preferisco|bisogno",
  'alsjeblieft|graag|wil|liever|proszę|chcę|wolę|potrzebuję',
  'пожалуйста|хочу|хотел(?:а|ось)? бы|лучше|lütfen|istiyorum|tercih',
].join('|');
/** Parts of words of languages without blanks between words. */
const BINDING_PARTS =
  /不要|不能|不可|不得|不许|禁止|别(?!的|人)|必须|务必|一定要?|只(?:能|要|有|准|用)?|至少|最多|不超过|以内|以下|以上|应该|应当|需要|ないで|てはいけ|てはなら|禁止|必ず|べき|だけ|のみ|以内|以下|以上|まで(?:に)?|なければ|ねば|하지 ?마|말아|반드시|항상|절대|만 (?:사용|써)|이하|이상|해야/u;
const WISHED_PARTS =
  /请|希望|想(?:要|去|找|吃|住|订)?|要|最好|麻烦|帮我|ください|下さい|お願い|たい(?:です|ん|。|$)|ほしい|欲しい|해 ?주세요|부탁|싶/u;

const BINDING = new RegExp(`(?<![\\p{L}\\p{N}_])(?:${BINDING_WORDS})(?![\\p{L}\\p{N}_])`, 'iu');
const WISHED = new RegExp(`(?<![\\p{L}\\p{N}_])(?:${WISHED_WORDS})(?![\\p{L}\\p{N}_])`, 'iu');

/** A limit: a comparison with a number, or a number behind words such as `max`. */
const LIMIT =
  /(?:[<>≤≥]=?|\b(?:max|min|maximum|minimum|limit|under|over|below|above|between|within|up to|unter|über|bis|menos de|más de|moins de|plus de)\.?)\s*[$€£¥]?\d/iu;
/** A word of capitals within a sentence of small letters, or the label of a rule. */
const EMPHASIS =
  /(?:^|\s)(?:IMPORTANT|NOTE|WARNING|RULE|NEVER|ALWAYS|MUST|ONLY|NOT|DO NOT|WICHTIG|ACHTUNG|IMPORTANTE|注意|重要)\b/u;
const HAN = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u;

/** @param sentence a sentence in a user's own words, not code or data */
export function findRuleSign(sentence: string): RuleSign | undefined {
  const isUnspaced = HAN.test(sentence);
  if (BINDING.test(sentence) || EMPHASIS.test(sentence) || LIMIT.test(sentence)) return 'binding';
  if (isUnspaced && BINDING_PARTS.test(sentence)) return 'binding';
  return WISHED.test(sentence) || (isUnspaced && WISHED_PARTS.test(sentence)) ? 'wished' : undefined;
}

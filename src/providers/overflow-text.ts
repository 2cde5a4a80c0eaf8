/**
 * True if a message says that the request was too long. A list of texts would never be complete, because providers use
 * hundreds of wordings. A sentence counts if it names a size of the input and a limit. It does not count if it is about
 * the output, a rate, the account or a single field.
 */
export function statesOverflow(message: string): boolean {
  const text = dropQuoted(message).replaceAll(IDENTIFIER, nameIdentifier);
  return text.split(SENTENCE_END).some((sentence) => isOverflow(sentence) && !isOther(sentence));
}

/** True if a provider refused the agent's maximum length of an answer. */
export function statesOutputCap(message: string): boolean {
  return message.split(SENTENCE_END).some((sentence) => OUTPUT_CAP.test(sentence) && ABOVE.test(sentence));
}

const OUTPUT_CAP = /\bmax_(?:completion_|output_|new_)?tokens\b|\bmax(?:Output|Completion)?Tokens\b/;
const ABOVE = /\b(?:above|at most|between|range|exceed\w*|maximum|too large|less than|no more than)\b|<=/i;

const SENTENCE_END = /[.!?;。！？]\s|[。！？]|\n/;

/** A longer quoted text may come from the user, but a quoted word is the name of a field. */
const QUOTES = [/"/, /`/, /[“”]/];
const MESSAGE_KEYS: ReadonlySet<string | undefined> = new Set(['message', 'error', 'detail', 'msg', 'reason']);

function dropQuoted(message: string): string {
  return QUOTES.reduce((text, quote) => {
    const pieces = text.split(quote);
    const isText = (at: number): boolean => at % 2 === 1 && at < pieces.length - 1 && /\s/.test(pieces[at] as string);
    const isMessage = (at: number): boolean => pieces[at - 1]?.trim() === ':' && MESSAGE_KEYS.has(pieces[at - 2]);
    return pieces.map((piece, at) => (isText(at) && !isMessage(at) ? '…' : piece)).join(' ');
  }, message);
}

/** Names of parameters, e.g. `max_tokens`, and paths of fields, e.g. `messages.3.content`. */
const IDENTIFIER = /\b(?:[a-z]+[.[]\d+[\w.[\]]*|[a-z]\w*_\w+)/gi;

function nameIdentifier(name: string): string {
  if (/^(?:model_)?(?:context|input|prompt)_(?:length|window|size|tokens)/i.test(name))
    return name.replaceAll('_', ' ');
  return /tokens/i.test(name) ? 'parameter' : 'field';
}

/** Words that measure the input. A sentence with such a word and a word for a limit states an overflow. */
const MEASURE =
  /\btokens?\b|\b(?:context|input|prompt|sequence|message|conversation)s?(?: \w+)? (?:length|window|size|limit)s?\b|上下文|输入长度/i;
const LIMIT =
  /\b(?:exceed\w*|over|overflow\w*|limit\w*|max|maximum|(?:longer|larger|greater|more|bigger|higher|less|fewer) than|at most|up to|too (?:long|large|big|many|much)|beyond|above|only|reduce|shorten|range of|cannot|not enough|reached)\b|<=|[<>≤≥]|超过|超出|超长|最大|上限/i;

/** Words for the input itself. A sentence with such a word must also say that the input is long or large. */
const INPUT = /\b(?:prompts?|inputs?|messages|request|conversation|context)\b|提示|输入|请求/i;
const SIZE =
  /\b(?:too (?:long|large|big)|exceed(?:s|ed|ing)? (?:\w+ ){0,4}(?:length|size|window|limit|context)|(?:reduce|shorten|decrease) (?:\w+ ){0,3}(?:length|size|prompt|input|messages|conversation)|(?:length|size) \w*(?: \w+)? ?exceed\w*|overflow(?:s|ed)?|longer than|cannot fit|does not fit|doesn't fit)\b|超长|过长|too much text/i;

const PART = /\b(?:image|picture|video|audio|file|document|tool|function|schema)s?\b/i;

function isOverflow(sentence: string): boolean {
  if (MEASURE.test(sentence) && LIMIT.test(sentence)) return true;
  return INPUT.test(sentence) && SIZE.test(sentence) && !PART.test(sentence);
}

const OUTPUT = /\b(?:output|completion|generated?|generation|thinking|reasoning|budget|response)\b|\bnew tokens\b/i;
const READS_INPUT = /\b(?:prompt|input|context|messages?)\b|上下文|输入/i;
/** Matches errors about rates, accounts, keys and JSON, which use the same words as an overflow. */
const UNRELATED =
  /\bper[ -](?:min|minute|hour|day|second|month)|\b[TR]P[MD]\b|\brate\b|\bquota\b|\bcredits?\b|\bbilling\b|\bplan\b|\bafford\b|\bbalance\b|\b(?:api|access|auth\w*|bearer|invalid|expired|refresh|unexpected|special|stop|eos|bos)[ -]tokens?\b|\btokens? (?:expired|is invalid|is not valid)|\binput should\b|\bwait\b|\bretry\b|\bfield (?:\w+ )?(?:is )?too long/i;

/** Bound of a single setting: `max_tokens must be …`, but not `inputs + max_tokens must be …`. */
const SETTING = /(?<!\+ ?)\bparameter\s+(?:must|should) be\b/;

function isOther(sentence: string): boolean {
  return UNRELATED.test(sentence) || SETTING.test(sentence) || (OUTPUT.test(sentence) && !READS_INPUT.test(sentence));
}

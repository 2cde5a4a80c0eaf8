/** Metric names in a query, with the labels that a surrounding aggregation keeps. */
export interface Selector {
  readonly metric: string;
  readonly matched: readonly string[];
  readonly grouped: readonly string[];
  /** Functions and aggregations around the selector, innermost first. */
  readonly within: readonly string[];
}

const TOKEN = /"(?:[^"\\]|\\.)*"|[a-zA-Z_$][\w:$]*|\d[\w.]*|[!=~<>]+|\S/g;
const IDENTIFIER = /^[a-zA-Z_][\w:]*$/;
const GROUPING = new Set(['by', 'without', 'on', 'ignoring', 'group_left', 'group_right']);
const OPERATOR = new Set(['and', 'or', 'unless', 'bool', 'offset', 'inf', 'nan']);

interface Frame {
  readonly name: string;
  readonly labels: readonly string[];
}

/**
 * Reads the selectors of a query, enough of PromQL to tell names apart. Groupings must precede their expression, as in
 * `sum by (label) (…)`.
 * @throws Error for a grouping behind its expression, or for unbalanced brackets
 */
export function readSelectors(query: string): Selector[] {
  const tokens: readonly string[] = query.match(TOKEN) ?? [];
  const found: Selector[] = [];
  const frames: Frame[] = [];
  let pending: Frame = { name: '', labels: [] };
  for (let at = 0; at < tokens.length; at += 1) {
    const token = tokens[at] ?? '';
    if (token === '(') {
      frames.push(pending);
      pending = { name: '', labels: [] };
    } else if (token === ')') {
      if (frames.pop() === undefined) throw new Error(`a bracket too many: ${query}`);
      if (tokens[at + 1] === 'by' || tokens[at + 1] === 'without') throw new Error(`grouping behind: ${query}`);
    } else if (token === '[') {
      at = tokens.indexOf(']', at);
    } else if (GROUPING.has(token)) {
      const end = tokens.indexOf(')', at);
      const labels = tokens.slice(at + 2, end).filter((part) => part !== ',');
      pending = { ...pending, labels: [...pending.labels, ...labels] };
      at = end;
    } else if (IDENTIFIER.test(token) && !OPERATOR.has(token)) {
      if (tokens[at + 1] === '(' || tokens[at + 1] === 'by' || tokens[at + 1] === 'without') {
        pending = { name: token, labels: [] };
        continue;
      }
      const end = tokens[at + 1] === '{' ? tokens.indexOf('}', at) : at;
      const inside = tokens.slice(at + 2, end);
      found.push({
        metric: token,
        matched: inside.filter((part, index) => IDENTIFIER.test(part) && /^[!=~]+$/.test(inside[index + 1] ?? '')),
        grouped: frames.flatMap(({ labels }) => labels),
        within: frames.flatMap(({ name }) => (name === '' ? [] : [name])).toReversed(),
      });
      at = end;
    }
  }
  if (frames.length > 0) throw new Error(`a bracket too few: ${query}`);
  return found;
}

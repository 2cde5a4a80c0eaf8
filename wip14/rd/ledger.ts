import { scan, shapeOf, classOf } from './terms.ts';
export interface Msg { role: string; content: string; toolCalls?: { id: string; name: string; arguments: string }[]; toolCallId?: string; isError?: boolean }
export const USER = 0, SAY = 1, ARG = 2, RESULT = 3;
export interface Fragment { msg: number; origin: number; start: number; end: number; text: string; terms: number[]; tokens: number; callKey?: string; order: number }
export interface Term { text: string; n: number[]; last: number[]; first: number; firstOrigin: number; err: number; lines: number; compound: boolean; lastMsgCount: number; sigs: number[]; usedAfter: number; lastSuper: boolean; seenMsg: number; msgs: number; sig: number; minLine: number; keyed: number; valued: number; pat: number; ln: number }
export interface Ledger { terms: Term[]; index: Map<string, number>; fragments: Fragment[]; n: number; sys: Set<string>; sigSeen: number[]; sigUsed: number[]; lastUser: number; posTok: number[]; total: number; superseded: boolean[]; tools:Set<string>; userCount:number; msgUsed: Float64Array; msgTerms: Float64Array; msgs: Msg[]; patSeen: number[]; patUsed: number[]; lastAgent: number; nbr: Float64Array[]; target: Float64Array; partUse: Float64Array; partAsk: Float64Array; endLine: Float64Array }
const MAXLINE = +(process.env.MAXLINE ?? 240), PIECE = +(process.env.PIECE ?? 160);
export function estimate(text: string, from: number, to: number): number {
  let t = 0, i = from;
  while (i < to) {
    const k = classOf(text.charCodeAt(i));
    if (k === 1 || k === 2) { let j = i + 1; while (j < to) { const c = classOf(text.charCodeAt(j)); if (c === 1 || (c === 2 && classOf(text.charCodeAt(j - 1)) === 2)) j++; else break; } const n = j - i; t += k === 2 && n > 1 && classOf(text.charCodeAt(i + 1)) === 2 ? Math.max(1, n / 2.6) : n <= 7 ? 1.06 : 1 + (n - 5) / 6; i = j; }
    else if (k === 3) { let j = i + 1; while (j < to && classOf(text.charCodeAt(j)) === 3) j++; t += Math.ceil((j - i) / 3); i = j; }
    else if (k === 6) { t += 0.8; i++; }
    else if (k === 7) { let j = i + 1; while (j < to && classOf(text.charCodeAt(j)) === 7) j++; if (j - i > 1) t += 0.7; i = j; }
    else { let j = i + 1; while (j < to && classOf(text.charCodeAt(j)) === k && k !== 4) j++; t += k === 4 ? 0.5 : 0.65 + 0.12 * (j - i); i = j; }
  }
  return t;
}
function leaves(v: unknown, key: string, out: [string, string][]): void {
  if (v === null || v === undefined) return;
  if (Array.isArray(v)) for (const x of v) leaves(x, key, out);
  else if (typeof v === 'object') for (const [k, x] of Object.entries(v)) leaves(x, k, out);
  else out.push([key, String(v)]);
}
export function argText(a: string): string { let v: unknown; try { v = JSON.parse(a); } catch { return a; } const out: [string, string][] = []; leaves(v, '', out); return out.map(([k, x]) => `${k}: ${x}`).join(', '); }
/** splits a text to lines and long lines into pieces; calls f(start,end) */
function pieces(text: string, f: (s: number, e: number) => void): void {
  let s = 0;
  while (s < text.length) {
    let e = text.indexOf('\n', s); if (e < 0) e = text.length;
    let a = s;
    while (e - a > MAXLINE) {
      let c = a + PIECE; const lim = a + MAXLINE;
      while (c < lim && !(classOf(text.charCodeAt(c)) === 7 || text.charCodeAt(c) === 44)) c++;
      // prefer a comma followed by space or '{'
      f(a, Math.min(c + 1, e)); a = Math.min(c + 1, e);
    }
    if (a < e) f(a, e);
    s = e + 1;
  }
}
export function read(msgs: Msg[], sysText: string, tools: Set<string>): Ledger {
  const terms: Term[] = [], index = new Map<string, number>(), fragments: Fragment[] = [];
  const sys = new Set<string>(); scan(sysText, 0, sysText.length, (t) => { sys.add(t); });
  const patIndex = new Map<string, number>(), patSeen: number[] = [], patUsed: number[] = [];
  const sigIndex = new Map<string, number>(), sigSeen: number[] = [], sigUsed: number[] = [];
  const posTok: number[] = []; let total = 0; let lastUser = -1, userCount = 0;
  const callKey = new Map<string, string>(); const lastOfKey = new Map<string, number>();
  const keyOfMsg: (string | undefined)[] = [];
  const msgUsed = new Float64Array(msgs.length), msgTerms = new Float64Array(msgs.length);
  const lastSeenIn = new Map<number, number>();
  let order = 0;
  const add = (m: number, origin: number, text: string, err: boolean): void => {
    let ln = 0;
    pieces(text, (s, e) => {
      const ids: number[] = []; let prev = '';
      scan(text, s, e, (w, a, b, compound) => {
        let id = index.get(w);
        if (id === undefined) { id = terms.length; index.set(w, id); terms.push({ text: w, n: [0, 0, 0, 0], last: [-1, -1, -1, -1], first: m, firstOrigin: origin, err: 0, lines: 0, compound, lastMsgCount: 0, sigs: [], usedAfter: 0, lastSuper: false, seenMsg: -1, msgs: 0, sig: -1, minLine: ln, keyed: 0, valued: 0, pat: -1, ln: 0 }); const pt = patternOf(w); let g = patIndex.get(pt); if (g === undefined) { g = patSeen.length; patIndex.set(pt, g); patSeen.push(0); patUsed.push(0); } terms[id]!.pat = g; if (origin === USER || origin === RESULT) patSeen[g]!++; }
        const T = terms[id]!;
        if (T.last[origin] !== m) { T.n[origin]!++; 
          if (origin === SAY || origin === ARG) { // the agent uses it: credit the signature and message where it was seen
            if (T.usedAfter === 0 && (T.last[0]! >= 0 || T.last[3]! >= 0)) { if (T.sig >= 0) sigUsed[T.sig]!++; patUsed[T.pat]!++; }
            const r = T.last[RESULT]!; if (r >= 0 && r < m && T.usedAfter < r + 1) msgUsed[r]!++;
            T.usedAfter = m + 1;
          } else {
            if (T.usedAfter === 0 && prev) { let g = sigIndex.get(prev); if (g === undefined) { g = sigSeen.length; sigIndex.set(prev, g); sigSeen.push(0); sigUsed.push(0); } if (T.sig !== g) { sigSeen[g]!++; if (T.sig < 0) T.sig = g; else T.sig = g; } }
            if (origin === RESULT) msgTerms[m]!++;
          }
        }
        { const c1 = text.charCodeAt(b), c2 = text.charCodeAt(b + 1), q = c1 === 34 || c1 === 39; if (c1 === 58 || c1 === 61 || (q && (c2 === 58))) T.keyed++; const d1 = text.charCodeAt(a - 1), d2 = text.charCodeAt(a - 2), d3 = text.charCodeAt(a - 3); const eq = (c: number): boolean => c === 58 || c === 61; if (eq(d1) || (eq(d2) && (d1 === 32 || d1 === 34)) || (d1 === 34 && d2 === 32 && eq(d3))) T.valued++; }
        if (T.seenMsg !== m) { T.seenMsg = m; T.msgs++; }
        T.last[origin] = m; if (err) T.err = m + 1; T.lines++;
        T.ln = fragments.length; if (!ids.includes(id)) ids.push(id);
        if (!compound) prev = w; 
      });
      const tk = estimate(text, s, e) + 1; total += tk;
      fragments.push({ msg: m, origin, start: s, end: e, text: text.slice(s, e), terms: ids, tokens: tk, order: order++ });
      ln++;
    });
  };
  msgs.forEach((m, i) => {
    posTok[i] = total;
    if (m.role === 'user') { lastUser = i; userCount++; add(i, USER, m.content, false); }
    else if (m.role === 'tool') { const k = callKey.get(m.toolCallId ?? ''); keyOfMsg[i] = k; if (k) lastOfKey.set(k, i); add(i, RESULT, m.content, m.isError === true); }
    else { add(i, SAY, m.content, false); for (const c of m.toolCalls ?? []) { callKey.set(c.id, c.name + c.arguments); add(i, ARG, `${c.name} ${argText(c.arguments)}`, false); } }
  });
  const superseded = msgs.map((m, i) => { const k = keyOfMsg[i]; return k !== undefined && lastOfKey.get(k)! > i; });
  const N = msgs.length, idfOf = (T: Term): number => Math.log(1 + N / T.msgs);
  // a) of each result: when the agent last named what the call was for (its rarest terms)
  const argTerms = new Map<number, number[]>(); for (const f of fragments) if (f.origin === ARG) { const a = argTerms.get(f.msg) ?? []; argTerms.set(f.msg, a.concat(f.terms)); }
  const target = new Float64Array(N).fill(-1); let callMsg = -1;
  for (let i = 0; i < N; i++) { if (msgs[i]!.role !== 'tool') { callMsg = i; continue; } let s = 0, n = 0; for (const t of argTerms.get(callMsg) ?? []) { const T = terms[t]!; const w = idfOf(T) ** 2; const la = Math.max(T.last[1]!, T.last[2]!); n += w; if (la > callMsg) s += w * Math.exp(-(N - la) / 15); } target[i] = n > 0 ? s / n : 0; }
  // i) parts of names: how much the agent used other terms with the same part, how much the users' words have it
  const partIndex = new Map<string, number>(), pu: number[] = [], pa: number[] = [], pn: number[] = []; const partsOf: number[][] = [];
  for (let t = 0; t < terms.length; t++) { const T = terms[t]!; const ids: number[] = []; for (const part of T.text.split(/[^\p{L}\p{N}]+|_+|(?<=[\p{Ll}\p{N}])(?=\p{Lu})/u)) { if (part.length < 3) continue; const k = part.toLowerCase(); let id = partIndex.get(k); if (id === undefined) { id = pu.length; partIndex.set(k, id); pu.push(0); pa.push(0); pn.push(0); } if (!ids.includes(id)) ids.push(id); }
    partsOf.push(ids); const la = Math.max(T.last[1]!, T.last[2]!); const u = la >= 0 ? Math.exp(-(N - la) / 15) : 0; for (const id of ids) { pn[id]!++; pu[id] = pu[id]! + u; if (T.last[0]! >= 0) pa[id]!++; } }
  const partUse = new Float64Array(terms.length), partAsk = new Float64Array(terms.length);
  for (let t = 0; t < terms.length; t++) { const T = terms[t]!; const la = Math.max(T.last[1]!, T.last[2]!); const u = la >= 0 ? Math.exp(-(N - la) / 15) : 0; let a = 0, b = 0, n = 0; for (const id of partsOf[t]!) { a += (pu[id]! - u) / (pn[id]! + 1); b += (pa[id]! - +(T.last[0]! >= 0)) / (pn[id]! + 1); n++; } partUse[t] = n ? a / n : 0; partAsk[t] = n ? b / n : 0; }
  // d) in the last lines of what the agent wrote
  const endLine = new Float64Array(terms.length), lastFrag = new Map<number, number>(); fragments.forEach((f, i) => { if (f.origin === SAY) lastFrag.set(f.msg, i); });
  fragments.forEach((f, i) => { if (f.origin === SAY && i >= lastFrag.get(f.msg)! - 1) for (const t of f.terms) endLine[t] = Math.max(endLine[t]!, Math.exp(-(N - f.msg) / 10)); });
  return { nbr: [], target, partUse, partAsk, endLine, terms, index, fragments, n: msgs.length, sys, sigSeen, sigUsed, lastUser, posTok, total, superseded, tools, userCount, msgUsed, msgTerms, msgs, patSeen, patUsed, lastAgent: msgs.findLastIndex((m) => m.role === 'assistant') };
}
export function patternOf(t: string): string { let s = '', prev = -1, n = 0; for (let i = 0; i < t.length; i++) { const k = classOf(t.charCodeAt(i)); if (k === prev && k !== 3) continue; s += k === 3 ? '0' : k === 1 ? 'a' : k === 2 ? 'A' : t[i]; prev = k; } return s; }
export const FEATURES = ['bias', 'msgs', 'nUser', 'nSay', 'nArg', 'nRes', 'lines', 'ageAny', 'ageUser', 'ageSay', 'ageArg', 'ageRes', 'hasUser', 'hasSay', 'hasArg', 'hasRes', 'first', 'firstUser', 'firstSay', 'firstArg', 'err', 'lowerOnly', 'cap', 'camel', 'snake', 'digits', 'mixed', 'compound', 'path', 'len', 'short', 'han', 'allcaps', 'relAge', 'lastUserMsg', 'sig', 'msgShare', 'super', 'usedSince', 'firstMsgUser', 'len2', 'last1', 'argIdent', 'sayIdent', 'resOnlyIdent','resOnly','dense','keyed','valued','pat','unread','unreadDigits','unreadOnly','resOnlyAge','digitsResOnly','digitsAgent','logN','logTerms','userOnly','userOnlyAge','sayOnly','burst','logTok','in10','in20','in40','msgAge1','logTokSay','logTokRare','target','targetOnly','partUse','partUseRes','partAsk','partAskRes','endLine','patCount','patCountRes'];
export function features(L: Ledger, id: number, out: Float64Array): void {
  const T = L.terms[id]!, N = L.n, s = shapeOf(T.text);
  const age = (o: number): number => (T.last[o]! < 0 ? 0 : Math.log1p(N - 1 - T.last[o]!));
  const lastAny = Math.max(...T.last); const [nu, ns, na, nr] = T.n as [number, number, number, number];
  const ident = s.digit > 0 || s.line > 0 || s.inner > 0 || s.join > 0 ? 1 : 0; const f = out; f.fill(0);
  let i = 0;
  f[i++] = 1; f[i++] = Math.log(T.msgs); f[i++] = Math.log1p(nu); f[i++] = Math.log1p(ns); f[i++] = Math.log1p(na); f[i++] = Math.log1p(nr); f[i++] = Math.log(T.lines / T.msgs);
  f[i++] = Math.log1p(N - 1 - lastAny); f[i++] = age(0); f[i++] = age(1); f[i++] = age(2); f[i++] = age(3);
  f[i++] = +(nu > 0); f[i++] = +(ns > 0); f[i++] = +(na > 0); f[i++] = +(nr > 0);
  f[i++] = T.first / N; f[i++] = +(T.firstOrigin === 0); f[i++] = +(T.firstOrigin === 1); f[i++] = +(T.firstOrigin === 2); f[i++] = +(T.err > 0);
  const letters = s.lower + s.upper;
  f[i++] = +(s.lower === T.text.length); f[i++] = +(s.first === 2 && s.inner === 0 && s.upper === 1 && letters === T.text.length); f[i++] = +(s.inner > 0); f[i++] = +(s.line > 0 && letters > 0); f[i++] = +(s.digit === T.text.length); f[i++] = +(s.digit > 0 && letters > 0);
  f[i++] = +(s.join > 0); f[i++] = +T.text.includes('/'); f[i++] = Math.log(T.text.length); f[i++] = +(T.text.length < 5); f[i++] = +(s.han > 0); f[i++] = +(s.upper > 1 && s.lower === 0);
  f[i++] = 1 - (L.posTok[lastAny] ?? 0) / L.total; f[i++] = +(T.last[0] === L.lastUser && nu > 0);
  const g = T.sig; f[i++] = g < 0 ? 0 : Math.log(((L.sigUsed[g]! + 0.3) / (L.sigSeen[g]! + 3)) / 0.1);
  const r = T.last[3]!; f[i++] = r < 0 ? 0 : Math.log((L.msgUsed[r]! + 1) / (L.msgTerms[r]! + 10) / 0.1);
  f[i++] = +(r >= 0 && r === lastAny && L.superseded[r]!); f[i++] = +(T.usedAfter > 0); f[i++] = +(T.first === 0 && T.firstOrigin === 0);
  f[i++] = Math.log(T.text.length) ** 2; f[i++] = +(lastAny >= N - 4); f[i++] = ident * +(na > 0); f[i++] = ident * +(ns > 0); f[i++] = ident * +(nr > 0 && ns + na + nu === 0); f[i++] = +(nr > 0 && ns + na + nu === 0); f[i++] = r < 0 ? 0 : Math.log1p(L.msgTerms[r]!);
  const resOnly = +(nr > 0 && ns + na + nu === 0), unread = +(Math.max(r, T.last[0]!) > L.lastAgent), userOnly = +(nu > 0 && ns + na + nr === 0), dg = +(s.digit === T.text.length);
  f[i++] = T.keyed / T.lines; f[i++] = T.valued / T.lines; f[i++] = Math.log(((L.patUsed[T.pat]! + 0.3) / (L.patSeen[T.pat]! + 3)) / 0.1); f[i++] = unread; f[i++] = unread * dg; f[i++] = unread * +(T.msgs === 1);
  f[i++] = resOnly * Math.log1p(N - 1 - lastAny); f[i++] = resOnly * dg; f[i++] = dg * +(ns + na > 0); f[i++] = Math.log(N) - 3.5; f[i++] = Math.log(L.terms.length) - 6.5; f[i++] = userOnly; f[i++] = userOnly * Math.log1p(N - 1 - lastAny); f[i++] = +(ns > 0 && na + nu + nr === 0); f[i++] = Math.log1p(lastAny - T.first);
  const ta = L.total - (L.posTok[lastAny + 1] ?? L.total), rel = ta / L.total, la = Math.max(T.last[1]!, T.last[2]!), ts = la < 0 ? L.total : L.total - (L.posTok[la + 1] ?? L.total); f[i++] = Math.log1p(ta / 200); f[i++] = +(rel < 0.1); f[i++] = +(rel < 0.2); f[i++] = +(rel < 0.4); f[i++] = +(lastAny >= N - 2); f[i++] = la < 0 ? 0 : Math.log1p(ts / 200); f[i++] = Math.log1p(ta / 200) * +(T.msgs === 1); const tg = r < 0 ? 0 : L.target[r]!; f[i++] = tg; f[i++] = tg * resOnly; f[i++] = L.partUse[id]!; f[i++] = L.partUse[id]! * resOnly; f[i++] = L.partAsk[id]!; f[i++] = L.partAsk[id]! * resOnly; f[i++] = L.endLine[id]!; const pc = Math.log1p(L.patSeen[T.pat]!); f[i++] = pc; f[i++] = pc * resOnly;
}

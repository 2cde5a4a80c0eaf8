import { read, features, FEATURES, type Ledger, type Msg, type Fragment } from './ledger.ts';
export interface Opts { weights: Float64Array | number[]; tau: number; alpha: number; bonus: number[]; head: number; reserve: number; fillTo: number; tailShare?: number; userShare?: number; gamma?: number; tauFor?: number[]; relTau?: number; tokBonus?: number[] }
export function probabilities(L: Ledger, w: ArrayLike<number>, tools: Set<string>): Float64Array {
  const p = new Float64Array(L.terms.length), f = new Float64Array(FEATURES.length);
  for (let i = 0; i < p.length; i++) {
    const t = L.terms[i]!.text;
    if (L.sys.has(t) || tools.has(t)) { p[i] = -1; continue; }
    features(L, i, f); let z = 0; for (let k = 0; k < f.length; k++) z += w[k]! * f[k]!; p[i] = 1 / (1 + Math.exp(-z));
  }
  return p;
}
class Heap { k: number[] = []; v: number[] = []; get size() { return this.k.length; }
  push(key: number, val: number) { const { k, v } = this; let i = k.length; k.push(key); v.push(val); while (i > 0) { const q = (i - 1) >> 1; if (k[q]! >= key) break; k[i] = k[q]!; v[i] = v[q]!; i = q; } k[i] = key; v[i] = val; }
  pop(): [number, number] { const { k, v } = this; const K = k[0]!, V = v[0]!; const lk = k.pop()!, lv = v.pop()!; const n = k.length; if (n) { let i = 0; for (;;) { let c = 2 * i + 1; if (c >= n) break; if (c + 1 < n && k[c + 1]! > k[c]!) c++; if (k[c]! <= lk) break; k[i] = k[c]!; v[i] = v[c]!; i = c; } k[i] = lk; v[i] = lv; } return [K, V]; } }
/** exact greedy coverage: returns chosen fragment flags */
export function greedy(L: Ledger, value: Float64Array, budget: number, o: Opts, pre: { chosen: Uint8Array; used: number; openMsg: Uint8Array }): { used: number; stopped: number } {
  const F = L.fragments, n = F.length; const gain = new Float64Array(n); const covered = new Uint8Array(L.terms.length);
  // inverted index
  const cnt = new Int32Array(L.terms.length + 1); for (const f of F) for (const t of f.terms) cnt[t + 1]!++; for (let i = 0; i < L.terms.length; i++) cnt[i + 1]! += cnt[i]!;
  const inv = new Int32Array(cnt[L.terms.length]!), fillp = cnt.slice(); F.forEach((f, i) => { for (const t of f.terms) inv[fillp[t]!++] = i; });
  const chosen = pre.chosen, open = pre.openMsg; let used = pre.used;
  for (let i = 0; i < n; i++) { let g = o.bonus[F[i]!.origin]! + (o.tokBonus?.[F[i]!.origin] ?? 0) * F[i]!.tokens; for (const t of F[i]!.terms) g += value[t]!; gain[i] = g; }
  const key = (i: number): number => { const c = F[i]!.tokens + (open[F[i]!.msg] ? 0 : o.head); const g = gain[i]!; return g > 1e-9 ? g / Math.pow(c, o.alpha) : (g - 1e-6 * (3 - F[i]!.msg / L.n - (F[i]!.origin === 1 ? 1 : F[i]!.origin === 2 ? 0.7 : 0))) * Math.pow(c,0.3); };
  const heap = new Heap(); const keyOf = new Float64Array(n);
  const cover = (i: number): void => { for (const t of F[i]!.terms) { if (covered[t]) continue; covered[t] = 1; const v = value[t]!; if (v === 0) continue; for (let q = cnt[t]!; q < cnt[t + 1]!; q++) { const j = inv[q]!; gain[j]! -= v; if (v < 0 && !chosen[j] && started) { const k2 = key(j); if (k2 > keyOf[j]!) { keyOf[j] = k2; heap.push(k2, j); } } } } };
  let started = false;
  for (let i = 0; i < n; i++) if (chosen[i]) cover(i);
  started = true;
  for (let i = 0; i < n; i++) if (!chosen[i]) { keyOf[i] = key(i); heap.push(keyOf[i]!, i); }
  let stopped = 0;
  while (heap.size) {
    const [k, i] = heap.pop(); if (chosen[i]) continue; if (k !== keyOf[i]) continue;
    const k2 = key(i); if (Math.abs(k2 - k) > 1e-9) { keyOf[i] = k2; heap.push(k2, i); continue; }
    if (k <= 0 && used >= o.fillTo * budget) { stopped = 1; break; }
    const c = F[i]!.tokens + (open[F[i]!.msg] ? 0 : o.head);
    if (used + c > budget) continue;
    chosen[i] = 1; open[F[i]!.msg] = 1; used += c; cover(i);
  }
  return { used, stopped };
}
const HEAD = ['[user] ', '[assistant] ', '→ ', '[tool] '];
export function renderChosen(L: Ledger, chosen: Uint8Array): string {
  const out: string[] = []; let msg = -1, origin = -1, lastI = -2;
  for (let i = 0; i < L.fragments.length; i++) { if (!chosen[i]) continue; const f = L.fragments[i]!;
    const head = f.msg !== msg || f.origin !== origin ? HEAD[f.origin]! : '';
    const joinLine = !head && lastI === i - 1 && L.fragments[i - 1]!.end === f.start; // pieces of one line
    if (joinLine) out[out.length - 1] += f.text; else out.push(head + (head ? f.text.trim() : f.text.trimEnd()));
    msg = f.msg; origin = f.origin; lastI = i; }
  return out.join('\n');
}

// text-level composition: users share, tail share, coverage for the rest. W=weights prefix, TAU
import { readFileSync } from 'node:fs';
import { findPoints, FAMILIES, countTokens } from '/work/wt/me/bench/context/points.ts';
import { renderMessage } from '/work/wt/me/src/evaluation/quality/searchable-text.ts';
import { readLedger } from '/work/wt/me/src/domain/evidence/ledger.ts';
import { estimateUse, FEATURE_NAMES, featuresOf } from '/work/wt/me/src/domain/evidence/use-probability.ts';
import { chooseFragments } from '/work/wt/me/src/domain/evidence/coverage.ts';
import { runToEnd } from '/work/wt/me/src/domain/sliced.ts';
const e = process.env; const W = e.W ?? '/work/out/fit/w', TAU = (e.TAU ?? '1').split(',').map(Number), USERS = +(e.USERS ?? 0.2), TAIL = +(e.TAIL ?? 0.35), B = (e.B ?? '0.2,2000').split(',').map(Number), MODE = e.MODE ?? 'fam';
const tables = Object.fromEntries([...FAMILIES, 'all'].map((f) => [f, JSON.parse(readFileSync(`${W}-${f}.json`, 'utf8'))]));
const HEAD = { user: '[user] ', statement: '[assistant] ', call: '→ ', result: '[tool] ' };
const acc = {};
let t0 = performance.now(), n = 0, msRead = 0, msChoose = 0;
for (const bp of findPoints(e.G ? e.G.split(',') : [])) {
  const { point, scorer, family, tokens } = bp; const src = point.source;
  let t1 = performance.now();
  const L = runToEnd(readLedger(src)); msRead += performance.now() - t1;
  const w = tables[MODE === 'fam' ? family : 'all']; const wv = FEATURE_NAMES.map((k) => w.features[k] ?? 0);
  const tools = new Set(point.recording.messages.flatMap((m) => (m.toolCalls ?? []).map((c) => c.name)));
  const sys = new Set(); 
  const p = Float64Array.from(L.terms, (t) => { if (tools.has(t.text)) return -1; const f = featuresOf(t, L); let z = w.bias; for (let k = 0; k < wv.length; k++) z += wv[k] * f[k]; return 1 / (1 + Math.exp(-z)); });
  const mean = p.reduce((s, x) => s + Math.max(0, x), 0) / p.length;
  const ftok = Float64Array.from(L.fragments, (f) => countTokens(f.text) + 1);
  for (const b of B) {
    if (b >= 1 && tokens < 20000) continue;
    const budget = b < 1 ? Math.floor(b * tokens) : b;
    for (const tau of TAU) {
      const t2 = performance.now();
      const v = p.map((x) => (x < 0 ? 0 : x - tau * mean));
      const shown = []; let used = 0;
      // users: first user message then newest, whole fragments
      const uf = [...L.fragments.keys()].filter((i) => L.fragments[i].part === 'user');
      const firstU = L.fragments[uf[0]]?.message;
      const order = [...uf.filter((i) => L.fragments[i].message === firstU), ...uf.filter((i) => L.fragments[i].message !== firstU).reverse()];
      const seenText = new Set();
      for (const i of order) { const c = ftok[i] + 2; if (used + c > USERS * budget) continue; if (seenText.has(L.fragments[i].text)) continue; seenText.add(L.fragments[i].text); used += c; shown.push(i); }
      const isShown = new Set(shown);
      // tail: newest messages whole
      let tail = 0; for (let m = src.length - 1; m >= 0; m--) { const fs = []; let c = 4; for (let i = 0; i < L.fragments.length; i++) if (L.fragments[i].message === m && !isShown.has(i)) { fs.push(i); c += ftok[i]; } if (tail + c > TAIL * budget) break; tail += c; for (const i of fs) { shown.push(i); isShown.add(i); } }
      used += tail;
      const chosen = runToEnd(chooseFragments({ ledger: L, values: v, tokens: ftok, maxTokens: budget - used, headTokens: 3, shown, mayChoose: (i) => !L.superseded.has(L.fragments[i].message) || L.fragments[i].part !== 'result' }));
      let all = new Set([...shown, ...chosen]); used += chosen.reduce((s, i) => s + ftok[i], 0);
      // fill
      if (e.FILL !== '0') for (const part of ['statement', 'call', 'user', 'result']) for (let i = L.fragments.length - 1; i >= 0; i--) { if (all.has(i) || L.fragments[i].part !== part) continue; if (used + ftok[i] + 1 > budget * 0.92) break; let bad = 0; for (const t of L.fragments[i].terms) if (v[t] < 0) bad++; all.add(i); used += ftok[i] + 1; }
      let text = '', last = -1, lp = ''; for (const i of [...all].sort((a, b) => a - b)) { const f = L.fragments[i]; text += (f.message !== last || f.part !== lp ? '\n' + HEAD[f.part] : '\n') + f.text; last = f.message; lp = f.part; }
      msChoose += performance.now() - t2;
      const s = scorer.score(text); const fill = countTokens(text) / budget; const g = scorer.guards(s, []); if (fill > 1.02) g.push('budget');
      (acc[`${b} tau ${tau}`] ??= []).push({ family, ...s, fill, g });
    }
  }
  n++;
}
const mean = (a, k) => { const ms = FAMILIES.flatMap((f) => { const o = a.filter((x) => x.family === f).map((x) => x[k]).filter((x) => x !== undefined); return o.length ? [o.reduce((s, x) => s + x, 0) / o.length] : []; }); return (100 * ms.reduce((s, x) => s + x, 0) / ms.length).toFixed(1); };
for (const [k, a] of Object.entries(acc)) console.log(k.padEnd(14), ['recall', 'rare', 'far', 'selectivity', 'anchored', 'userWords', 'fill', 'density'].map((x) => `${x} ${mean(a, x)}`).join('  '), 'broken', a.filter((x) => x.g.length).length, JSON.stringify(a.flatMap((x) => x.g).reduce((o, x) => (o[x] = (o[x] ?? 0) + 1, o), {})), e.FAMS ? FAMILIES.map((f) => { const o = a.filter((x) => x.family === f); return `${f} ${(100 * o.reduce((s, x) => s + x.recall, 0) / o.length).toFixed(0)}/${(100 * o.reduce((s, x) => s + (x.selectivity ?? 0), 0) / o.length).toFixed(0)}`; }).join(' ') : '');
console.log(n, 'points', Math.round(performance.now() - t0), 'ms; read', Math.round(msRead), 'choose', Math.round(msChoose));

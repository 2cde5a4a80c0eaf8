import { readFileSync, readdirSync } from 'node:fs';
// @ts-nocheck
import * as ref from '/work/out/quality/lib.mjs';
import { STRATEGIES } from '/work/out/quality/strategies.mjs';
import { Corpus } from '/work/wt/me/src/evaluation/quality/corpus.ts';
import { findCuts } from '/work/wt/me/src/evaluation/quality/cut-points.ts';
import { findPoint } from '/work/wt/me/src/evaluation/quality/needles.ts';
import { QualityScorer } from '/work/wt/me/src/evaluation/quality/score.ts';
import { renderMessage } from '/work/wt/me/src/evaluation/quality/searchable-text.ts';
const convs = ref.load('/work/shared/traces');
const [g, n] = process.argv.slice(2);
const df = ref.dfTables(convs);
const corpus = new Corpus(convs);
let k = 0, diff = 0; const acc = {};
for (const d of convs.filter((d) => !g || d.group === g).slice(0, Number(n ?? 5))) {
  const sizes = d.messages.map((m) => m.role === 'system' ? 0 : ref.tok(ref.render(m)));
  const cuts = findCuts(d.messages, sizes), rc = ref.points(d);
  if (cuts.join() !== rc.join()) console.log('cuts', d.id, cuts, rc);
  for (const t of rc) {
    const nd = ref.needles(d, t, df); if (nd.list.length < 5) continue; ref.prepare(nd, d, t, df);
    const p = findPoint(d, t, corpus);
    const a = nd.list.map((x) => x.a).sort().join('|'), b = p.needles.map((x) => x.text).sort().join('|');
    if (a !== b) { diff++; const A = new Set(nd.list.map((x) => x.a)), B = new Set(p.needles.map((x) => x.text)); console.log('needles', d.id, t, [...A].filter((x) => !B.has(x)).slice(0, 5), [...B].filter((x) => !A.has(x)).slice(0, 5)); }
    const ctx = STRATEGIES.salience({ pre: nd.pre, preText: nd.preText, budget: 0.2 * ref.tok(nd.preText), nd, df });
    const s = ref.score(ctx, nd), o = new QualityScorer(p).score(ctx);
    const rj = s.ident !== null && s.ctrl !== null ? s.ident - s.ctrl : null;
    for (const [key, x, y] of [['recall', s.recall, o.recall], ['rare', s.rare, o.rare], ['far', s.far, o.far], ['J', rj, o.selectivity], ['anch', s.anchored, o.anchored], ['user', s.userKeep, o.userWords], ['dens', s.idDensity, o.density], ['novel', s.novel, o.invented], ['arg', s.arg, o.inArguments]]) {
      const e = acc[key] ??= { d: 0, m: 0, n: 0, r: 0 }; if (x === null) continue; e.n++; e.r += x; e.d += x - (y ?? 0); e.m = Math.max(e.m, Math.abs(x - (y ?? 0)));
    }
    k++;
  }
}
console.log(k, 'points', diff, 'needle lists differ'); for (const [k2, e] of Object.entries(acc)) console.log(k2, 'ref', (100 * e.r / e.n).toFixed(1), 'mean diff', (100 * e.d / e.n).toFixed(2), 'max', (100 * e.m).toFixed(1));

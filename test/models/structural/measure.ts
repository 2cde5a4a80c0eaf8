import { createStructuralSummarizer } from '../../../src/models/structural/structural-summarizer.ts';
import { loadTokenCounter } from '../../../src/tokens/token-counter.ts';
import { readSequences } from './traces.ts';

const counter = await loadTokenCounter('o200k_base');
const s = createStructuralSummarizer({ countTokens: (t) => counter.count(t) });
const RE = /https?:\/\/[^\s"'`<>)\\\]}]+|[\w.@~#$%+-]*\/[\w.@\/+-]+|[\w#@.-]+/g;
const keep = (x: string) =>
  x.length >= 3 &&
  (/^https?:/.test(x) ||
    (/\w/.test(x) && /^[~.]{0,2}\/[\w.]|\/.*\/|\/[\w-]+\.\w+$/.test(x)) ||
    /\.(?:ts|js|py|md|json|rs|txt|toml|yaml)$/.test(x) ||
    /^\d{4}-\d\d-\d\d$/.test(x) ||
    /^\d{3,}$/.test(x) ||
    (x.length >= 5 && /[A-Za-z]/.test(x) && /\d.*\d/.test(x) && /^[#\w-]+$/.test(x)));
const memo = new WeakMap<object, string[]>();
function args(ms: any[]) {
  const out = new Set<string>();
  for (const m of ms)
    for (const c of m.toolCalls ?? []) {
      const known = memo.get(c);
      if (known) {
        known.forEach((x) => out.add(x));
        continue;
      }
      const mine: string[] = [];
      memo.set(c, mine);
      let v: any = [];
      try {
        const walk = (x: any) => {
          if (typeof x === 'string' || typeof x === 'number') v.push(String(x));
          else if (x && typeof x === 'object') Object.values(x).forEach(walk);
        };
        walk(JSON.parse(c.arguments));
      } catch {
        v = [c.arguments];
      }
      for (const t of v)
        for (const x0 of t.match(RE) ?? []) {
          const x = x0.replace(/^[.$-]+(?=\w)|[.,:-]+$/g, '');
          if (keep(x)) {
            mine.push(x);
            out.add(x);
          }
        }
    }
  return out;
}
const kinds:any={};const by: Record<string, any> = {};
let worst = 0;
const dump = process.argv[2];
let di = 0;
for (const q of readSequences()) {
  const src = q.messages
    .map((m) => m.content + (m.toolCalls ?? []).map((c) => c.name + c.arguments).join(''))
    .join('\n');
  const st = counter.countSync(src);
  if (st < 256) continue;
  const cap = Math.min(2000, Math.floor(st / 4));
  const t0 = performance.now();
  const a = await s.summarize({
    range: { from: 1, to: 2 },
    messages: q.messages,
    ...(q.asked === undefined ? {} : { asked: q.asked }),
    maxTokens: cap,
    signal: new AbortController().signal,
  });
  const ms = performance.now() - t0;
  worst = Math.max(worst, ms);
  const text = a.status === 'written' ? a.text : '';
  const n = counter.countSync(text);
  if (n > cap) throw Error('over');
  const lits = [...args(q.messages)];
  const kept = lits.filter((l) => text.includes(l));
  const later = [...args(q.later)].filter((l) => src.includes(l));
  const lk = later.filter((l) => text.includes(l));
  if(process.env.KIND){for(const l of later){const k=/^\d+$/.test(l)?'num':/^\d{4}-/.test(l)?'date':/[\/]/.test(l)?'path':/\.\w+$/.test(l)?'file':'id';const e=(kinds[q.source+' '+k]??=[0,0,[]]);e[0]++;if(text.includes(l))e[1]++;else if(e[2].length<12)e[2].push(l)}}
 const litTokens = counter.countSync(lits.join('\n'));
  for (const k of [q.source, 'ALL']) {
    const b = (by[k] ??= {
      n: 0,
      ref: 0,
      fill: 0,
      lits: 0,
      kept: 0,
      share: 0,
      sn: 0,
      fitl: 0,
      fitk: 0,
      later: 0,
      lk: 0,
      ms: 0,
      low: 0,
    });
    b.n++;
    b.ref += a.status === 'refused' ? 1 : 0;
    b.fill += n / cap;
    if (n / cap < 0.7) {
      b.low++;
      if (k === 'ALL' && process.env.LOW) console.log('LOW', q.source, n, cap, q.messages.length);
    }
    b.lits += lits.length;
    b.kept += kept.length;
    if (lits.length) {
      b.share += kept.length / lits.length;
      b.sn++;
    }
    if (litTokens < cap * 0.5) {
      b.fitl += lits.length;
      b.fitk += kept.length;
    }
    b.later += later.length;
    b.lk += lk.length;
    b.ms += ms;
  }
  if (dump && q.source === dump && di++ === Number(process.argv[3] ?? 0)) {
    console.log('cap', cap, 'src', st, 'msgs', q.messages.length);
    console.log(text);
    console.log('LOST', lits.filter((l) => !text.includes(l)).slice(0, 80));
    console.log('LATER LOST', later.filter((l) => !text.includes(l)).slice(0, 60));
    process.exit();
  }
}
for (const [k, b] of Object.entries(by))
  console.log(
    k.padEnd(18),
    'n',
    b.n,
    'ref',
    b.ref,
    'fill',
    (b.fill / b.n).toFixed(3),
    'low',
    b.low,
    '| arg pooled',
    (b.kept / b.lits).toFixed(3),
    'of',
    b.lits,
    'mean',
    (b.share / b.sn).toFixed(3),
    'fits',
    (b.fitk / b.fitl).toFixed(3),
    'of',
    b.fitl,
    '| later',
    (b.lk / b.later).toFixed(3),
    'of',
    b.later,
    'ms',
    (b.ms / b.n).toFixed(1),
  );
console.log('worst ms', worst.toFixed(0));
if(process.env.KIND)console.log(kinds);

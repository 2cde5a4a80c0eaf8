import fs from 'node:fs';
import * as L from '/work/out/quality/lib.mjs';
const convs = L.load('/work/shared/traces'); const df = L.dfTables(convs); const t0=Date.now();
const out=[]; const tokc=new Map();
for (const d of convs) for (const t of L.points(d)) {
  const nd = L.needles(d,t,df); if (nd.list.length<5) continue; L.prepare(nd,d,t,df);
  const total=L.tok(nd.pre.map(L.render).join('\n'));
  const src=L.score(nd.preText,nd);
  out.push({id:d.id,group:d.group,t,total,density:src.idDensity,control:nd.control,userW:[...nd.userW],preAtoms:[...nd.preAtoms],
    list:nd.list.map(x=>({...x,anch:[...x.anch]}))});
}
fs.writeFileSync('points.json',JSON.stringify(out)); console.log(out.length,Date.now()-t0);
// group-common terms are needed for the labels

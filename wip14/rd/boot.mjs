import {evaluate,fams} from './ev.mjs';import {maker} from './ev2.mjs';
const mean=a=>a.length?a.reduce((x,y)=>x+y,0)/a.length:NaN;let seed=7;const rnd=()=>{seed=(Math.imul(seed,1103515245)+12345)>>>0;return seed/2**32;};
for(const cv of ['grp','fam'])for(const b of [0.2,2000]){const rows=evaluate(maker(cv,{users:0.2,tail:0.3,strictness:0.85}),{budgets:[b],quiet:true,full:false})[b].rows;
 const byF=fams.map(f=>{const m=new Map();for(const r of rows.filter(r=>r.p.fam===f))(m.get(r.p.id)??m.set(r.p.id,[]).get(r.p.id)).push(r);return [...m.values()];}).filter(x=>x.length);
 const out={};for(const k of ['recall','rare','J']){const v=[];for(let i=0;i<600;i++){v.push(100*mean(byF.map(l=>{const s=[];for(let j=0;j<l.length;j++)for(const r of l[Math.floor(rnd()*l.length)])if(r[k]!==null)s.push(r[k]);return mean(s);}).filter(x=>!Number.isNaN(x))));}v.sort((a,b)=>a-b);const fm=100*mean(fams.map(f=>mean(rows.filter(r=>r.p.fam===f&&r[k]!==null).map(r=>r[k]))).filter(x=>!Number.isNaN(x)));out[k]=`${fm.toFixed(1)} [${v[15].toFixed(0)}, ${v[584].toFixed(0)}]`;}
 const pooled=k=>(100*mean(rows.map(r=>r[k]).filter(x=>x!==null))).toFixed(1);
 const grp={};for(const r of rows)(grp[r.p.group]??=[]).push(r);
 console.log(cv,b,JSON.stringify(out),'pooled over points',pooled('recall'),pooled('rare'),pooled('J'));
 console.log('   ',Object.entries(grp).map(([g,l])=>`${g} n${l.length} ${['recall','rare','J'].map(k=>(100*mean(l.map(r=>r[k]).filter(x=>x!==null))).toFixed(0)).join('/')}`).join('  '));}

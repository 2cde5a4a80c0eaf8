import fs from 'node:fs'; import * as L from '/work/out/quality/lib.mjs'; import {convs,FAM} from './ev.mjs'; import * as P from '../prototype.ts'; import {common,fit,auc} from './train.mjs';
const df=L.dfTables(convs),H=40,K=P.FEATURES.length;const t0=Date.now();
// shapeOf is not exported: features through worthOf's own path
const rows=[];
for(const d of convs)for(const t of L.points(d,[0.4,0.5,0.65,0.75])){
  const sys=d.messages.filter(m=>m.role==='system').map(m=>m.content).join('\n'),pre=d.messages.slice(0,t).filter(m=>m.role!=='system');
  const tools=new Set(d.messages.flatMap(m=>(m.toolCalls??[]).map(c=>c.name)));
  const ev=P.runToEnd(P.readEvidence(pre,sys,tools));const index=new Map(ev.terms.map((x,i)=>[x.text,i]));
  const y=new Uint8Array(ev.terms.length),intro=new Set();
  for(const m of d.messages.slice(t,t+H)){const here=[];const emit=w=>{here.push(w);};
    if(m.role==='assistant'){const txt=m.content+'\n'+(m.toolCalls??[]).map(c=>L.callText(c)).join('\n');P.scanTerms(txt,0,txt.length,emit);for(const w of here){if(intro.has(w))continue;const id=index.get(w);if(id!==undefined)y[id]=1;}}
    else P.scanTerms(m.content,0,m.content.length,emit);
    for(const w of here)intro.add(w);}
  const ids=[];let np=0;for(let i=0;i<ev.terms.length;i++){const w=ev.terms[i].text;if(ev.known.has(w))continue;if(y[i]&&(common(d.group,w)||(/^[a-z]+$/.test(w)&&!(w.length>=5&&df.rareWord(w)))))y[i]=0;ids.push(i);np+=y[i];}
  if(np<3)continue;
  const X=new Float64Array(ids.length*K),Y=new Uint8Array(ids.length),tmp=new Float64Array(K);
  ids.forEach((id,k)=>{P.writeFeatures(ev,ev.terms[id],P.shapeOf(ev.terms[id].text),tmp);X.set(tmp,k*K);Y[k]=y[id];});
  rows.push({id:d.id,group:d.group,fam:FAM[d.group],t,X,Y,n:ids.length,np,K});
}
console.log('points',rows.length,'terms',rows.reduce((s,r)=>s+r.n,0),Date.now()-t0,'ms');
const fold=id=>{let h=0;for(const c of id)h=(h*31+c.charCodeAt(0))>>>0;return (h>>>3)&1;};
const o={l2:60,iters:8};const W={};const out=[];
W.all=[...fit(rows,o)];console.log(P.FEATURES.map((f,i)=>`${f} ${W.all[i].toFixed(2)}`).join('  '));console.log('all',auc(rows,W.all));
for(const f of ['service','swe-bash','coding','chat']){W['fam_'+f]=[...fit(rows.filter(r=>r.fam!==f),o)];console.log('fam',auc(rows.filter(r=>r.fam===f),W['fam_'+f]));}
for(const g of new Set(rows.map(r=>r.group))){W['grp_'+g]=[...fit(rows.filter(r=>r.group!==g),o)];console.log('grp',g,auc(rows.filter(r=>r.group===g),W['grp_'+g]));}
for(const k of [0,1])W['half_'+k]=[...fit(rows.filter(r=>fold(r.id)!==k),o)];
fs.writeFileSync('w2.json',JSON.stringify(W));console.log(Date.now()-t0,'ms');

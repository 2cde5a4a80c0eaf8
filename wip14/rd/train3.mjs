import fs from 'node:fs'; import * as L from '/work/out/quality/lib.mjs'; import {convs,FAM} from './ev.mjs'; import * as P from '../prototype.ts'; import {common,fit,auc} from './train.mjs';
const df=L.dfTables(convs),H=40,K=P.FEATURES.length;const t0=Date.now();
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
  const pe=ids.map(id=>{const T=ev.terms[id];return P.kindOf(T,P.shapeOf(T.text))*9+Math.min(8,Math.round(2*Math.log2(T.messages)));});const sm=new Map();pe.forEach((q,k)=>{const e=sm.get(q)??sm.set(q,{n:0,x:new Float64Array(K)}).get(q);e.n++;for(let j=0;j<K;j++)e.x[j]+=X[k*K+j];});const Z=new Float64Array(ids.length*2*K);pe.forEach((q,k)=>{const e=sm.get(q);for(let j=0;j<K;j++){const m=e.x[j]/e.n;Z[k*2*K+j]=m;Z[k*2*K+K+j]=X[k*K+j]-m;}});
  rows.push({id:d.id,group:d.group,fam:FAM[d.group],t,X:Z,Y,n:ids.length,np,K:2*K});
}
console.log('points',rows.length,'terms',rows.reduce((s,r)=>s+r.n,0),Date.now()-t0,'ms');

const l2=+(process.env.L2??20);const o={l2,iters:8};const W={};
W.all=[...fit(rows,o)];console.log(P.FEATURES.map((f,i)=>`${f} ${W.all[i].toFixed(2)}|${W.all[K+i].toFixed(2)}`).join('  '));
for(const f of ['service','swe-bash','coding','chat']){W['fam_'+f]=[...fit(rows.filter(r=>r.fam!==f),o)];console.log('fam',auc(rows.filter(r=>r.fam===f),W['fam_'+f]));}
for(const g of new Set(rows.map(r=>r.group)))W['grp_'+g]=[...fit(rows.filter(r=>r.group!==g),o)];
fs.writeFileSync('w3.json',JSON.stringify(W));const V={};for(const k in W)V[k]=[...W[k].slice(K),...W[k].slice(0,K).map((x,j)=>x-W[k][K+j])];fs.writeFileSync('w4.json',JSON.stringify(V));console.log(Date.now()-t0,'ms');

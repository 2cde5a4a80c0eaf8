import fs from 'node:fs'; import * as L from '/work/out/quality/lib.mjs'; import {convs,FAM} from './ev.mjs'; import {read,features,FEATURES} from './ledger.ts'; import {scan} from './terms.ts';
const df=L.dfTables(convs); const H=40;
// group-common terms in our own tokens
const gdf=new Map(),gn=new Map();
for(const d of convs){const s=new Set();for(const m of d.messages){const t=L.render(m);scan(t,0,t.length,w=>{s.add(w)});}const g=gdf.get(d.group)??gdf.set(d.group,new Map()).get(d.group);for(const w of s)g.set(w,(g.get(w)??0)+1);gn.set(d.group,(gn.get(d.group)??0)+1);}
const glob=new Map();for(const g of gdf.values())for(const [w,c] of g)glob.set(w,(glob.get(w)??0)+c);
export function common(group,w){const n=gn.get(group);return n>=7?(gdf.get(group).get(w)??0)>Math.max(2,0.2*n):(glob.get(w)??0)>0.05*convs.length;}
export const isPlain=w=>/^[a-z]{5,}$/.test(w);
export function dataset(fractions=[0.3,0.5,0.65,0.75,0.85]){
  const rows=[];
  for(const d of convs)for(const t of L.points(d,fractions)){
    const sysText=d.messages.filter(m=>m.role==='system').map(m=>m.content).join('\n');
    const pre=d.messages.slice(0,t).filter(m=>m.role!=='system');
    const tools=new Set(d.messages.flatMap(m=>(m.toolCalls??[]).map(c=>c.name)));
    const led=read(pre,sysText,tools);
    const y=new Uint8Array(led.terms.length), intro=new Set();
    for(const m of d.messages.slice(t,t+H)){
      const here=[]; const emit=w=>{here.push(w);};
      if(m.role==='assistant'){const txt=m.content+'\n'+(m.toolCalls??[]).map(c=>L.callText(c)).join('\n');scan(txt,0,txt.length,emit);for(const w of here){if(intro.has(w))continue;const id=led.index.get(w);if(id!==undefined)y[id]=1;}}
      else scan(m.content,0,m.content.length,emit);
      for(const w of here)intro.add(w);
    }
    const ids=[];let np=0;
    for(let i=0;i<led.terms.length;i++){const w=led.terms[i].text;if(led.sys.has(w)||tools.has(w))continue; if(y[i]&&(common(d.group,w)||(/^[a-z]+$/.test(w)&&!(w.length>=5&&df.rareWord(w)))))y[i]=0; ids.push(i);np+=y[i];}
    if(np<3)continue;
    const X=new Float64Array(ids.length*FEATURES.length),Y=new Uint8Array(ids.length),tmp=new Float64Array(FEATURES.length);
    ids.forEach((id,k)=>{features(led,id,tmp);X.set(tmp,k*FEATURES.length);Y[k]=y[id];});
    rows.push({id:d.id,group:d.group,fam:FAM[d.group],t,X,Y,n:ids.length,np,K:FEATURES.length});
  }
  return rows;
}
export function fit(rows,{l2=3,iters=12,use=null}={}){
  const K=rows[0].K; const famN={};for(const r of rows)famN[r.fam]=(famN[r.fam]??0)+1;
  const w=new Float64Array(K);
  const total=rows.reduce((s,r)=>s+r.n,0), nf=Object.keys(famN).length;
  for(let it=0;it<iters;it++){
    const g=new Float64Array(K),Hm=new Float64Array(K*K);
    for(const r of rows){const pw=total/nf/famN[r.fam]/r.n*0.05;
      for(let i=0;i<r.n;i++){const o=i*K;let z=0;for(let k=0;k<K;k++)z+=w[k]*r.X[o+k];const p=1/(1+Math.exp(-z)),e=(r.Y[i]-p)*pw,v=p*(1-p)*pw;
        for(let k=0;k<K;k++){const x=r.X[o+k];if(x===0)continue;g[k]+=e*x;const vx=v*x;for(let j=0;j<=k;j++)Hm[k*K+j]+=vx*r.X[o+j];}}}
    for(let k=0;k<K;k++){g[k]-=l2*w[k]*(k?1:0);Hm[k*K+k]+=l2*(k?1:0)+1e-9; if(use&&!use.has(k)){g[k]=0;Hm[k*K+k]+=1e9;}}
    // cholesky
    const C=Hm;for(let i=0;i<K;i++)for(let j=0;j<=i;j++){let s=C[i*K+j];for(let k=0;k<j;k++)s-=C[i*K+k]*C[j*K+k];if(i===j)C[i*K+i]=Math.sqrt(Math.max(s,1e-12));else C[i*K+j]=s/C[j*K+j];}
    const z=new Float64Array(K);for(let i=0;i<K;i++){let s=g[i];for(let k=0;k<i;k++)s-=C[i*K+k]*z[k];z[i]=s/C[i*K+i];}
    let mx=0;for(let i=K-1;i>=0;i--){let s=z[i];for(let k=i+1;k<K;k++)s-=C[k*K+i]*z[k];z[i]=s/C[i*K+i];}
    for(let k=0;k<K;k++){w[k]+=z[k];mx=Math.max(mx,Math.abs(z[k]));} if(mx<1e-4)break;
  }
  return w;
}
export function auc(rows,w){const K=rows[0].K,out={};for(const r of rows){const a=[];for(let i=0;i<r.n;i++){let z=0;for(let k=0;k<K;k++)z+=w[k]*r.X[i*K+k];a.push([z,r.Y[i]]);}a.sort((x,y)=>x[0]-y[0]);let s=0,np=0;a.forEach(([,y],i)=>{if(y){s+=i+1;np++;}});const v=(s-np*(np+1)/2)/np/(a.length-np);(out[r.fam]??=[]).push(v);}return Object.fromEntries(Object.entries(out).map(([k,v])=>[k,+(v.reduce((a,b)=>a+b)/v.length).toFixed(3)]));}
export function sauc(rows,w){const K=rows[0].K,ix=f=>FEATURES.indexOf(f);const sh=['lowerOnly','cap','camel','snake','digits','mixed','compound','path','allcaps'].map(ix),im=ix('msgs');const out={};for(const r of rows){const S=new Map();for(let i=0;i<r.n;i++){const o=i*K;if(r.X[o+sh[0]])continue;let key='';for(const k of sh)key+=r.X[o+k];key+=Math.min(6,Math.round(Math.exp(r.X[o+im])));let z=0;for(let k=0;k<K;k++)z+=w[k]*r.X[o+k];(S.get(key)??S.set(key,[]).get(key)).push([z,r.Y[i]]);}let num=0,den=0;for(const a of S.values()){const np0=a.reduce((s,x)=>s+x[1],0);if(!np0||np0===a.length)continue;a.sort((x,y)=>x[0]-y[0]);let s=0;a.forEach(([,y],i)=>{if(y)s+=i+1;});const v=(s-np0*(np0+1)/2)/np0/(a.length-np0);num+=v*np0;den+=np0;}if(den)(out[r.fam]??=[]).push(num/den);}return Object.fromEntries(Object.entries(out).map(([k,v])=>[k,+(v.reduce((a,b)=>a+b)/v.length).toFixed(3)]));}
if(process.argv[1].endsWith('train.mjs')){
  const t0=Date.now();const rows=dataset();console.log('points',rows.length,'terms',rows.reduce((s,r)=>s+r.n,0),'pos',rows.reduce((s,r)=>s+r.np,0),Date.now()-t0);
  const w=fit(rows);console.log(FEATURES.map((f,i)=>`${f} ${w[i].toFixed(2)}`).join('  '));console.log('all',auc(rows,w),Date.now()-t0);
  fs.writeFileSync('weights.json',JSON.stringify([...w]));
  const W={all:[...w]};
  for(const f of ['service','swe-bash','coding','chat']){const tr=rows.filter(r=>r.fam!==f),te=rows.filter(r=>r.fam===f);const v=fit(tr);W[f]=[...v];console.log('held out',f,auc(te,v));}
  fs.writeFileSync('weights-cv.json',JSON.stringify(W)); console.log(Date.now()-t0);
}

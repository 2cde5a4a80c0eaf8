import fs from 'node:fs'; import {dataset,fit,auc} from './train.mjs'; import {FEATURES} from './ledger.ts';
const fold=id=>{let h=0;for(const c of id)h=(h*31+c.charCodeAt(0))>>>0;return (h>>>3)&1;};
const rows=dataset([0.5,0.75]);const K=FEATURES.length;console.log(rows.length);
function gb(tr,{trees=70,depth=4,lr=0.15,NB=32,minW=30}={}){
  const n=tr.reduce((s,r)=>s+r.n,0);const y=new Uint8Array(n),wt=new Float64Array(n);const famN={};for(const r of tr)famN[r.fam]=(famN[r.fam]??0)+1;
  const cuts=[];const bins=Array.from({length:K},()=>new Uint8Array(n));
  let o=0;for(const r of tr){for(let i=0;i<r.n;i++){y[o]=r.Y[i];wt[o]=n*0.05/Object.keys(famN).length/famN[r.fam]/r.n;o++;}}
  for(let k=0;k<K;k++){const v=[];for(const r of tr)for(let i=0;i<r.n;i+=7)v.push(r.X[i*K+k]);v.sort((a,b)=>a-b);const c=[];for(let b=1;b<NB;b++){const x=v[Math.floor(b*v.length/NB)];if(!c.length||x>c.at(-1))c.push(x);}cuts.push(c);
    o=0;for(const r of tr)for(let i=0;i<r.n;i++){const x=r.X[i*K+k];let b=0;while(b<c.length&&x>c[b])b++;bins[k][o++]=b;}}
  const F=new Float64Array(n).fill(-3);const T=[];
  for(let t=0;t<trees;t++){const node=new Int32Array(n);const g=new Float64Array(n),h=new Float64Array(n);for(let i=0;i<n;i++){const p=1/(1+Math.exp(-F[i]));g[i]=(y[i]-p)*wt[i];h[i]=p*(1-p)*wt[i];}
    const tree={f:new Int16Array(1<<depth).fill(-1),b:new Uint8Array(1<<depth),v:new Float64Array(1<<(depth+1))};
    for(let d=0;d<depth;d++){const m=1<<d;const G=new Float64Array(m*K*NB),Hh=new Float64Array(m*K*NB);
      for(let k=0;k<K;k++){const bk=bins[k];for(let i=0;i<n;i++){const q=(node[i]*K+k)*NB+bk[i];G[q]+=g[i];Hh[q]+=h[i];}}
      for(let a=0;a<m;a++){let best=1e-6,bf=-1,bb=0;for(let k=0;k<K;k++){const q=(a*K+k)*NB;let tg=0,th=0;for(let b=0;b<NB;b++){tg+=G[q+b];th+=Hh[q+b];}let lg=0,lh=0;const base=tg*tg/(th+5);for(let b=0;b<cuts[k].length;b++){lg+=G[q+b];lh+=Hh[q+b];if(lh<minW*0.05||th-lh<minW*0.05)continue;const s=lg*lg/(lh+5)+(tg-lg)*(tg-lg)/(th-lh+5)-base;if(s>best){best=s;bf=k;bb=b;}}}
        tree.f[m-1+a]=bf;tree.b[m-1+a]=bb;}
      for(let i=0;i<n;i++){const a=node[i],k=tree.f[m-1+a];node[i]=2*a+(k>=0&&bins[k][i]>tree.b[m-1+a]?1:0);}
    }
    const m=1<<depth;const G=new Float64Array(m),Hh=new Float64Array(m);for(let i=0;i<n;i++){G[node[i]]+=g[i];Hh[node[i]]+=h[i];}for(let a=0;a<m;a++)tree.v[a]=lr*G[a]/(Hh[a]+5);
    for(let i=0;i<n;i++)F[i]+=tree.v[node[i]];T.push(tree);}
  const imp={};for(const t of T)for(const f of t.f)if(f>=0)imp[FEATURES[f]]=(imp[FEATURES[f]]??0)+1;console.log(Object.entries(imp).sort((a,b)=>b[1]-a[1]).slice(0,25).map(x=>x.join(' ')).join(', '));
  return (X,off)=>{let z=-3;for(const t of T){let a=0;for(let d=0;d<depth;d++){const m=1<<d,k=t.f[m-1+a];let b=0;if(k>=0){const c=cuts[k],x=X[off+k];while(b<c.length&&x>c[b])b++;}a=2*a+(k>=0&&b>t.b[m-1+a]?1:0);}z+=t.v[a];}return z;};
}
export function aucf(rows,fn){const out={};for(const r of rows){const a=[];for(let i=0;i<r.n;i++)a.push([fn(r.X,i*K),r.Y[i]]);a.sort((x,y)=>x[0]-y[0]);let s=0,np=0;a.forEach(([,y],i)=>{if(y){s+=i+1;np++;}});(out[r.fam]??=[]).push((s-np*(np+1)/2)/np/(a.length-np));}return Object.fromEntries(Object.entries(out).map(([k,v])=>[k,+(v.reduce((a,b)=>a+b)/v.length).toFixed(3)]));}
for(const k of [0,1]){const t0=Date.now();const tr=rows.filter(r=>fold(r.id)!==k),te=rows.filter(r=>fold(r.id)===k);const w=fit(tr,{l2:60,iters:8});console.log('LR',k,auc(te,w));const m=gb(tr);console.log('GB',k,aucf(te,m),Date.now()-t0);}
for(const f of ['service','chat']){const tr=rows.filter(r=>r.fam!==f),te=rows.filter(r=>r.fam===f);const w=fit(tr,{l2:60,iters:8});console.log('LR',f,auc(te,w));const m=gb(tr);console.log('GB',f,aucf(te,m));}

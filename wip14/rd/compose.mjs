import {byId} from './ev.mjs'; import fs from 'node:fs'; import * as L from '/work/out/quality/lib.mjs'; import {read} from './ledger.ts';import {shapeOf} from './terms.ts'; import {probabilities,greedy,renderChosen} from './select.ts';
const fold=id=>{let h=0;for(const c of id)h=(h*31+c.charCodeAt(0))>>>0;return (h>>>3)&1;};
const W=JSON.parse(fs.readFileSync('weights-cv.json'));
const B=JSON.parse(fs.readFileSync('base-cv.json'));
const cache=new Map();
export function prepared(pt,cv){const key=pt.id+pt.t;let c=cache.get(key);if(!c){const d=byId.get(pt.id);const pre=d.messages.slice(0,pt.t).filter(m=>m.role!=='system');const sys=d.messages.filter(m=>m.role==='system').map(m=>m.content).join('\n');const tools=new Set(d.messages.slice(0,pt.t).flatMap(m=>(m.toolCalls??[]).map(c=>c.name)));const led=read(pre,sys,tools);c={led,tools,p:{}};cache.set(key,c);}
 const wk=cv==='grp'?'grp_'+pt.group:cv==='fam'?pt.fam:cv==='half'?'half'+fold(pt.id):'all';c.p[wk]??=probabilities(c.led,W[wk],c.tools);c.b??={};c.b[wk]??=probabilities(c.led,B[wk],c.tools);
 c.s??={};if(!c.s[wk]){const q=c.p[wk],T=c.led.terms,acc=new Map(),key=new Array(q.length);let s=0,n=0;for(let i=0;i<q.length;i++){if(q[i]<0)continue;s+=q[i];n++;}const m=s/n;
  for(let i=0;i<q.length;i++){if(q[i]<0)continue;const h=shapeOf(T[i].text);const k=KIND(h,T[i])+COUNT(T[i].msgs);key[i]=k;const a=acc.get(k)??acc.set(k,[0,0]).get(k);a[0]+=q[i];a[1]++;}
  const o=new Float64Array(q.length);for(let i=0;i<q.length;i++)if(q[i]>=0){const a=acc.get(key[i]);o[i]=(a[0]+SM*m)/(a[1]+SM);}c.s[wk]=o;}
 return {led:c.led,p:c.p[wk],p0:process.env.BASE?c.b[wk]:c.s[wk]};}
const SM=+(process.env.SM??5);
const COUNT=n=>process.env.CNT==='fine'?Math.min(12,n<7?n:6+Math.round(Math.log2(n/6)*2)):process.env.CNT==='coarse'?Math.min(4,Math.round(Math.log2(n))):process.env.CNT==='none'?0:Math.min(8,Math.round(2*Math.log2(n)));
const KIND=(h,T)=>{const len=T.text.length,b=h.lower===len?'l':h.join?'j':h.digit===len?'d':h.digit?'m':h.line||h.inner?'i':'c';
 if(process.env.KND==='fine')return b==='j'?(T.text.includes('/')?'jp':h.digit>0?'jd':'jn'):b==='i'?(h.line?'is':'ic'):b==='m'?(h.line?'ms':h.lower?'ml':'mu'):b==='l'?(len<5?'l4':'l5'):b;
 if(process.env.KND==='none')return b==='l'?'l':'x';return b;};
const DEF={alpha:1,bonus:[0,0,0,0],head:3,fillTo:0.75,rel:1};
export function make(opt,cv='fam'){const o={...DEF,...opt};return ({budget,point})=>{const {led,p,p0}=prepared(point,cv);
  let s=0,n=0;for(let i=0;i<p.length;i++)if(p[i]>=0){s+=p[i];n++;}
  const tau=o.rel?o.tau*s/n:o.tau;
  const value=new Float64Array(p.length);for(let i=0;i<p.length;i++)value[i]=p[i]<0?0:o.mix===undefined?p[i]-tau:p[i]-o.tau*((1-o.mix)*s/n+o.mix*p0[i])*(o.lin?1:(1-p[i]));
  const opts={...o,bonus:o.bonus.map(x=>x*s/n),tokBonus:o.tokBonus?.map(x=>x*s/n)};
  let b=budget,best='';
  for(let k=0;k<5;k++){const chosen=new Uint8Array(led.fragments.length);
    const open=new Uint8Array(led.n);let used=0;if(o.force)used=o.force(led,chosen,open,b);
    greedy(led,value,b,opts,{chosen,used,openMsg:open});const txt=renderChosen(led,chosen);const u=L.tok(txt);
    if(u<=budget&&(best===''||u>=L.tok(best)))best=txt;
    if(u<=budget&&(u>0.95*budget||k>2))break;b*=u>budget?budget/u*0.985:Math.min(1.3,budget/u*0.985);}
  return best;};}

import {evaluate,byId} from './ev.mjs'; import fs from 'node:fs'; import * as L from '/work/out/quality/lib.mjs'; import {read} from './ledger.ts'; import {probabilities,greedy,renderChosen} from './select.ts';
const W=JSON.parse(fs.readFileSync('weights-cv.json'));
const cache=new Map();
export function prepared(pt,cv){const key=pt.id+pt.t;let c=cache.get(key);if(!c){const d=byId.get(pt.id);const pre=d.messages.slice(0,pt.t).filter(m=>m.role!=='system');const sys=d.messages.filter(m=>m.role==='system').map(m=>m.content).join('\n');const tools=new Set(d.messages.slice(0,pt.t).flatMap(m=>(m.toolCalls??[]).map(c=>c.name)));const led=read(pre,sys,tools);c={led,tools,p:{}};cache.set(key,c);}
 const wk=cv?pt.fam:'all';c.p[wk]??=probabilities(c.led,W[wk],c.tools);return {led:c.led,p:c.p[wk]};}
export function make(o,cv=true){return ({budget,point})=>{const {led,p}=prepared(point,cv);
  const value=new Float64Array(p.length);for(let i=0;i<p.length;i++)value[i]=p[i]<0?0:p[i]-o.tau;
  let b=budget*1.0;let txt='';
  for(let k=0;k<5;k++){const chosen=new Uint8Array(led.fragments.length);greedy(led,value,b,o,{chosen,used:0,openMsg:new Uint8Array(led.n)});txt=renderChosen(led,chosen);const u=L.tok(txt);if(u<=budget&&(u>0.97*budget||k>2||u<b*0.5))break;b*=u>budget?budget/u*0.99:Math.min(1.3,budget/u*0.985);}
  return txt;};}
if(process.argv[1].endsWith('run1.mjs')){
const base={alpha:1,bonus:[0,0,0,0],head:3,fillTo:0.75};
for(const cv of [true,false])for(const tau of [0,0.02,0.05,0.1,0.2])for(const b of [0.2]){evaluate(make({...base,tau},cv),{name:`cv=${cv} tau=${tau}`});}
}

// other cuts (35, 60, 85 %) with (a) the reference needles, (b) a second definition: tokens between white space and brackets, no types, controls by shape and count
import fs from 'node:fs';import * as L from '/work/out/quality/lib.mjs';
const convs=L.load('/work/shared/traces'),df=L.dfTables(convs);
const toks=s=>{const o=new Set();for(let w of s.split(/[\s"'`,;()\[\]{}<>|=*\\]+/)){w=w.replace(/^[.:!?@$-]+|[.:!?-]+$/g,'');if(w.length<4||w.length>100)continue;if(/[\d_\/.@#:-]/.test(w)||/[a-z][A-Z]/.test(w)||/^[A-Z]{3,}$/.test(w))o.add(w);}return o;};
const cn=new Map(),gn=new Map();for(const d of convs){const s=new Set();for(const m of d.messages)for(const w of toks(L.render(m)))s.add(w);gn.set(d.group,(gn.get(d.group)??0)+1);for(const w of s){const k=d.group+'|'+w;cn.set(k,(cn.get(k)??0)+1);}}
const common=(g,w)=>(cn.get(g+'|'+w)??0)>Math.max(2,0.2*gn.get(g));
const shape=w=>(/\d/.test(w)?'d':'')+(/[\/]/.test(w)?'p':'')+(/_/.test(w)?'u':'')+(/[a-z][A-Z]/.test(w)?'c':'');
const A=[],B=[];
for(const d of convs)for(const t of L.points(d,[0.35,0.6,0.85])){
 const nd=L.needles(d,t,df);const total=L.tok(nd.pre.map(L.render).join('\n'));
 if(nd.list.length>=5){L.prepare(nd,d,t,df);const src=L.score(nd.preText,nd);A.push({id:d.id,group:d.group,t,total,density:src.idDensity,control:nd.control,userW:[...nd.userW],preAtoms:[...nd.preAtoms],list:nd.list.map(x=>({...x,anch:[...x.anch]}))});}
 const sys=d.messages.filter(m=>m.role==='system').map(m=>m.content).join('\n');const R=nd.pre.map(L.render);const cnt=new Map();R.forEach(r=>{for(const w of toks(r))cnt.set(w,(cnt.get(w)??0)+1);});
 const intro=new Set(),used=new Set();for(const m of d.messages.slice(t,t+40)){const w=toks(L.render(m));if(m.role==='assistant')for(const x of w)if(!intro.has(x))used.add(x);for(const x of w)intro.add(x);}
 const later=new Set();for(const m of d.messages.slice(t))if(m.role==='assistant')for(const x of toks(L.render(m)))later.add(x);
 const list=[];for(const w of used)if(cnt.has(w)&&!common(d.group,w)&&L.has(sys,w)<0&&L.has(nd.preText,w)>=0)list.push({a:w,type:'tok',use:'text',k:cnt.get(w),age:1-nd.preText.lastIndexOf(w)/nd.preText.length,fromUser:false,anch:[]});
 if(list.length<5)continue;
 const pool=new Map();for(const [w,k] of cnt)if(!later.has(w)&&!used.has(w)&&!common(d.group,w)&&L.has(nd.preText,w)>=0){const key=shape(w)+k;(pool.get(key)??pool.set(key,[]).get(key)).push(w);}
 const control=[];let seed=99;for(const x of list){let l;for(const dk of [0,-1,1,-2,2]){const c=pool.get(shape(x.a)+(x.k+dk));if(c?.length){l=c;break;}}if(!l)continue;seed=(Math.imul(seed,1103515245)+12345)>>>0;control.push(l.splice(seed%l.length,1)[0]);}
 B.push({id:d.id,group:d.group,t,total,density:1,control,userW:[],preAtoms:[],list});
}
fs.writeFileSync('points-a.json',JSON.stringify(A));fs.writeFileSync('points-b.json',JSON.stringify(B));console.log(A.length,B.length,B.reduce((s,p)=>s+p.list.length,0));

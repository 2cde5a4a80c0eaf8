import {points,byId} from './ev.mjs';import {prepared,make} from './compose.mjs';
const g=process.argv[2],k=+process.argv[3];const p=points.filter(x=>x.group===g)[k];
const {led,p:pr}=prepared(p,'fam');const s=[...pr].filter(x=>x>=0);const mean=s.reduce((a,b)=>a+b)/s.length;
console.log(p.id,p.t,p.total,'mean p',mean.toFixed(3),'terms',s.length);
const sorted=[...s].sort((a,b)=>b-a);
for(const x of p.list){const id=led.index.get(x.a);const v=id===undefined?null:pr[id];console.log(x.a,x.type,x.use,'k',x.k,'age',x.age.toFixed(2),'user',x.fromUser,v===null?'NOT A TERM':v<0?'SYS':(v/mean).toFixed(2)+' rank '+sorted.findIndex(y=>y<=v), id===undefined?'':JSON.stringify(led.terms[id].n)+JSON.stringify(led.terms[id].last));}
console.log('CONTROLS',p.control.map(a=>{const id=led.index.get(a);return a+' '+(id===undefined?'NAT':(pr[id]/mean).toFixed(2));}).join(' | '));
console.log('-----');console.log(make({tau:0.8},'fam')({budget:Math.floor(p.total*0.2),point:p}).slice(0,4000));

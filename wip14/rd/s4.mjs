import {sweep} from './sweep.mjs';import {forced} from './force.mjs';
for(const [u,t] of [[0,0],[0.15,0],[0.3,0],[0,0.15],[0,0.3],[0,0.45],[0.2,0.2],[0.3,0.3]])sweep({force:forced({users:u,tail:t})},{cvs:['half'],taus:[0.3,0.6,0.9,1.3],full:true,name:`users ${u} tail ${t}`});

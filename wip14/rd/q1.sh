export KND=fine
for c in '0.2 0.3' '0.2 0' '0.2 0.5' '0.3 0.3' '0.1 0.3'; do set -- $c; node s2.mjs "fine lin u$1 t$2" "{\"u\":$1,\"t\":$2,\"mix\":1,\"lin\":1}"; done
node s2.mjs "fine lin, all weights" '{"u":0.2,"t":0.3,"mix":1,"lin":1,"cvs":["all","half"]}'

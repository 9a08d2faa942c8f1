"""The objects behind the core's ids, each kept by what knows it: agents, tools, speeches, history, who watches."""

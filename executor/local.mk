# executor

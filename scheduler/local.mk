# scheduler

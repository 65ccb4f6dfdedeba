module renew

go 1.24

module ccc/v2

go 1.24

module ccc/v3

go 1.24

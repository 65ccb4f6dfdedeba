module ccc

go 1.24

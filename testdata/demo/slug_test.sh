check() { got=$(sh slug.sh "$1"); [ "$got" = "$2" ] || { echo "FAIL $1: $got"; exit 1; }; }
check 'Hello World' hello-world
check '  C++ & Go!  ' c-go
check '' ''
echo 'ok, 3 titles'

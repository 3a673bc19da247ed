// Fetches its argument with Go's standard client.
package main

import (
	"io"
	"net/http"
	"os"
)

func main() {
	answer, err := http.Get(os.Args[1])
	if err != nil {
		println(err.Error())
		os.Exit(1)
	}
	io.Copy(os.Stdout, answer.Body)
}

// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	name, _ := os.Hostname()
	switch command := strings.Join(args[:min(1, len(args))], ""); {
	case command == "serve":
		return serve(name)
	case command == "keep" && len(args) == 2:
		sum, err := keep(args[1])
		if err != nil {
			return err
		}
		fmt.Println("sha256", sum)
		return serve(sum)
	case command == "done":
		fmt.Println("done")
		return nil
	case command == "crash":
		return errors.New("the test pod ends with an error, because its command is crash")
	case command == "eat":
		return eat()
	}
	return fmt.Errorf("unknown command %q", args)
}

func serve(text string) error {
	server := &http.Server{Addr: ":8080", ReadHeaderTimeout: 5 * time.Second,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, text) })}
	return server.ListenAndServe()
}

// keep returns the digest of the data in a file. The first line of the file has the digest that the data must have; if the two
// differ, keep returns an error. It writes the file with random data if it does not exist.
func keep(path string) (string, error) {
	content, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		data := make([]byte, 64<<10)
		if _, err := rand.Read(data); err != nil {
			return "", err
		}
		text := hex.EncodeToString(data)
		content = []byte(digest(text) + "\n" + text)
		err = os.WriteFile(path, content, 0o600)
		if err != nil {
			return "", err
		}
	} else if err != nil {
		return "", err
	}
	sum, text, _ := strings.Cut(string(content), "\n")
	if is := digest(text); is != sum {
		return "", fmt.Errorf("the data in %s has the digest %s, not %s", path, is, sum)
	}
	return sum, nil
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// eat allocates memory until the kernel kills the program. It writes to each page: the kernel provides a page only then.
func eat() error {
	var all [][]byte
	for {
		block := make([]byte, 4<<20)
		for i := 0; i < len(block); i += 4096 {
			block[i] = 1
		}
		all = append(all, block)
		if len(all) > 1024 {
			return errors.New("no memory limit has ended this program, although it has allocated 4 GiB")
		}
	}
}
